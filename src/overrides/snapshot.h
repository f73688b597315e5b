// All overrides at one point of time.
#ifndef SLUICE_OVERRIDES_SNAPSHOT_H_
#define SLUICE_OVERRIDES_SNAPSHOT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "overrides/namespace_marks.h"
#include "overrides/namespace_tree.h"
#include "overrides/override.h"
#include "overrides/rules.h"

namespace sluice::overrides {

// Snapshot never changes: with() and without() make another one, which shares the namespaces that
// stay as they are. They take time that depends on the namespace that changes, and hardly on the
// others.
//
// Immutable, hence thread-safe.
class Snapshot {
  public:
    explicit Snapshot(std::uint64_t hash_seed);
    // In the order of their creation.
    Snapshot(std::vector<Override> overrides, std::uint64_t hash_seed);

    // The rules of a namespace; null if it has none.
    const Rules* rules(const NamespaceKey& key) const;
    const NamespaceMarks& marks() const { return marks_; }
    std::size_t size() const { return size_; }

    std::shared_ptr<const Snapshot> with(Override entry) const;
    // The key names an override that is there.
    std::shared_ptr<const Snapshot> without(const OverrideKey& key) const;

  private:
    // Puts `next` in the place of the rules under `key`, or removes those if it is null.
    void replace(const NamespaceKey& key, std::shared_ptr<const Rules> next);

    std::uint64_t hash_seed_;
    std::size_t size_ = 0;
    NamespaceTree by_namespace_;
    NamespaceMarks marks_;  // of all namespaces that are held
    // How many namespaces have each mark.
    std::array<std::uint32_t, NamespaceMarks::kMarks> sharing_mark_{};
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SNAPSHOT_H_
