// All overrides of a node: which one applies to a request, and how they change.
#ifndef SLUICE_OVERRIDES_OVERRIDE_SET_H_
#define SLUICE_OVERRIDES_OVERRIDE_SET_H_

#include <sluice/result.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/current.h"
#include "base/mutex.h"
#include "overrides/snapshot.h"
#include "overrides/store.h"

namespace sluice::overrides {

// Bounds on a namespace, which bound the work of a lookup and of a change. A lookup may compare the
// two ends of each pattern, and finds all texts between two `*` in one pass.
inline constexpr std::size_t kMaxPerNamespace = 10'000;
inline constexpr std::size_t kMaxPatternsPerNamespace = 1'000;        // of these, with a `*`
inline constexpr std::size_t kMaxPatternBytesPerNamespace = 262'144;  // of all of those together
inline constexpr std::size_t kMaxSearchedPerNamespace = 100;  // of these, with text between two `*`
inline constexpr std::size_t kMaxInnerTextsPerNamespace = 256;  // such texts, of all together
inline constexpr std::size_t kMaxPerWorkspace = 100'000;
// Such texts in all namespaces of a workspace.
inline constexpr std::size_t kMaxInnerTextsPerWorkspace = 10'000;

// Where a page begins and how much it holds.
struct PageRequest {
    std::string_view cursor;  // empty for the first page, or the cursor of the page before
    std::size_t limit;
};

// Overrides of one namespace, the oldest first.
struct Page {
    std::vector<Override> overrides;
    std::optional<std::string> cursor;  // of the next page; none if this is the last one
};

// OverrideSet holds every override in memory and writes each change through to a store. Where other
// nodes change the same store, it serves what the last reload() has read.
//
// The bounds above are checked where an override is created. Nodes that create overrides at the
// same time may exceed them together; all are served.
//
// Thread-safe. set(), remove() and reload() take a lock and wait for the store, so they may block
// on a disk or a network. get() and list() take a lock for the length of a pointer's copy.
// Decisions read through a Reader, which takes none while nothing changes.
class OverrideSet {
  public:
    // One serving thread's view of the overrides, which must not outlive the set. A reader that is
    // not refreshed keeps the overrides that it saw last in memory, so there should be one per
    // thread and not one per connection.
    //
    //     reader.refresh();                                    // as a request begins
    //     const Override* found = reader.get().match({workspace, name_space, identifier});
    //     if (found) limit = found->value.limit;               // valid until the next refresh()
    using Reader = Current<Snapshot>::Reader;
    Reader reader() const { return Reader(current_); }

    // Loads all that the store holds. An error is the store's.
    static Result<std::unique_ptr<OverrideSet>> open(std::unique_ptr<OverrideStore> store);
    // For a store that other nodes change as well, which may be unavailable. Serves `last_known`
    // until the first reload(). An error is in `last_known`.
    static Result<std::unique_ptr<OverrideSet>> open_shared(std::unique_ptr<OverrideStore> store,
                                                            std::vector<Override> last_known);
    ~OverrideSet();
    OverrideSet(const OverrideSet&) = delete;
    OverrideSet& operator=(const OverrideSet&) = delete;

    // Creates the override or changes its limit and duration; answers its id, which a change keeps.
    // A change without an author is not kept among the changes(). Holds for every request that
    // begins afterwards. kInvalidRequest: a field is out of range, or the namespace or workspace is
    // full. kStoreFailed, kStoreUnavailable: the store's; nothing changed.
    Result<std::string> set(const OverrideKey& key,
                            const LimitAndDuration& value,
                            const std::optional<Author>& author = std::nullopt);

    // Whether there was one to remove. kStoreFailed, kStoreUnavailable: the store's; nothing
    // changed.
    Result<bool> remove(const OverrideKey& key, const std::optional<Author>& author = std::nullopt);

    // The changes that the store has kept: those with an author. Errors are the store's.
    Result<std::vector<Change>> changes(const ChangeQuery& query);

    // Reads the store if other nodes have changed it. An error is the store's, or names a stored
    // override that is out of range; then nothing changes here.
    [[nodiscard]] std::optional<Error> reload();

    // Ends calls that wait for the store, and all later ones, soon.
    void interrupt() { store_->interrupt(); }

    // The override that was set under exactly this pattern.
    std::optional<Override> get(const OverrideKey& key) const;

    // kInvalidRequest: the cursor is none that a page carried. Nothing is skipped or repeated when
    // overrides are set and removed between two pages.
    Result<Page> list(const NamespaceKey& key, const PageRequest& request) const;

    // Whether there is any override in the namespace.
    bool has(const NamespaceKey& key) const;

    std::size_t size() const { return current_.get()->size(); }

    // The version of the store that is loaded; 0: unknown, or the store is of this node alone.
    std::uint64_t version() const { return shown_version_.load(std::memory_order_relaxed); }

  private:
    enum class Writers { kThisNode, kManyNodes };

    OverrideSet(std::unique_ptr<OverrideStore> store, Writers writers);
    std::optional<Error> replace_all(std::vector<Override> overrides) SLUICE_REQUIRES(writing_);
    std::optional<Error> load_changes() SLUICE_REQUIRES(writing_);
    void note_version(std::uint64_t version) SLUICE_REQUIRES(writing_);
    std::optional<Error> no_room(const OverrideKey& key, const OverrideRules* rules) const
        SLUICE_REQUIRES(writing_);

    // Held for the whole of a change, so that the store and the snapshots change in the same order.
    Mutex writing_;
    const std::unique_ptr<OverrideStore> store_;
    const Writers writers_;  // of the store
    // The version of the store that is loaded; none: unknown.
    std::optional<std::uint64_t> loaded_version_ SLUICE_GUARDED_BY(writing_);
    // The same for readers. Written under writing_; relaxed: it publishes nothing.
    std::atomic<std::uint64_t> shown_version_{0};
    std::uint64_t next_order_ SLUICE_GUARDED_BY(writing_) = 1;
    std::unordered_map<std::string, Usage> per_workspace_ SLUICE_GUARDED_BY(writing_);

    Current<Snapshot> current_;  // replaced under writing_
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_OVERRIDE_SET_H_
