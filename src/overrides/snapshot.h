// All overrides at one point of time.
#ifndef SLUICE_OVERRIDES_SNAPSHOT_H_
#define SLUICE_OVERRIDES_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "overrides/namespace_marks.h"
#include "overrides/override.h"
#include "overrides/rules.h"
#include "overrides/text_hash.h"

namespace sluice::overrides {

// Snapshot never changes: with() and without() make another one, which shares the namespaces that
// stay as they are.
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
    struct KeyHash {
        std::uint64_t seed;
        std::size_t operator()(const NamespaceKey& key) const;
    };
    // The keys are views into the rules that they lead to.
    using ByNamespace = std::unordered_map<NamespaceKey, std::shared_ptr<const Rules>, KeyHash>;

    // Puts `next` in the place of the rules under `key`, or removes those if it is null.
    void replace(const NamespaceKey& key, std::shared_ptr<const Rules> next);

    std::uint64_t hash_seed_;
    std::size_t size_ = 0;
    ByNamespace by_namespace_;
    NamespaceMarks marks_;  // of all namespaces that are held
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SNAPSHOT_H_
