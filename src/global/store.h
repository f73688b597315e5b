// The interface to the global store: for each cell, one grow-only component per region.
#ifndef SLUICE_GLOBAL_STORE_H_
#define SLUICE_GLOBAL_STORE_H_

#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "window/cell.h"

namespace sluice {

// Why a call to the store failed.
struct StoreFailure {
    enum class Kind {
        kBusy,     // a deadlock or a lock timeout: nothing was done; retry soon
        kLost,     // unreachable, or the connection broke: the call may or may not have been done
        kRows,     // it refused the rows of a publish (a value that does not fit, a row that is too
                   // long); it may accept other rows
        kRefused,  // it answers, but needs an operator: password, schema, rights
    };
    Kind kind;
    std::string why;  // for operators; names the server and what to do, and holds no secret
};

template <class T>
using StoreResult = std::variant<T, StoreFailure>;

// The longest parts of a name that a store keeps as they are, in bytes. Stored names
// (global/stored_name.h) are never longer than one byte more.
inline constexpr std::size_t kStoredWorkspaceBytes = 191;
inline constexpr std::size_t kStoredNamespaceBytes = 255;
inline constexpr std::size_t kStoredIdentifierBytes = 255;

// The longest time from the `updated_at` of a component until other regions can see the change. A
// publish that would take longer is rolled back; an import looks further back than that.
inline constexpr std::chrono::seconds kMaxCommitDelay{60};

// What this region has spent in a cell: its component. Names are stored names.
struct RegionCount {
    CellName cell;
    Count count;
};

// The same of any region.
struct RegionRow {
    CellName cell;
    std::string region;
    Count count;
};

// For how long a region counts after its last publish.
inline constexpr std::chrono::minutes kRegionMemory{10};

// The result of a publish.
struct PublishEnd {
    // How many regions were marked as alive within kRegionMemory by the store's clock; none if that
    // could not be read.
    std::optional<std::size_t> regions = {};
};

// Whether a request can have made the cell: other programs may write to a store or a bus.
inline bool is_possible(const CellName& cell) {
    return !cell.workspace.empty() && !cell.name_space.empty() && !cell.identifier.empty() &&
           cell.duration >= kMinDuration && cell.duration <= kMaxDuration && cell.sequence >= 0 &&
           cell.sequence <= static_cast<Sequence>(kMaxCount) / cell.duration.count();
}

// How many components a page of an import reads, unless a query says otherwise.
inline constexpr std::size_t kImportPageRows = 10'000;

// Which components to import: one page of them.
struct ImportQuery {
    // Of cells that matter then or later: (sequence + 2) * duration > living_at.
    UnixTime living_at;
    // Those that changed at that time of the store's clock or later; none: all.
    std::optional<UnixTime> changed_since = {};
    // Those of cells that follow this one, as the end of the page before had it; none: from the
    // first.
    std::optional<CellName> after = {};
    // How many components the store may read, whether they matter or not. A page ends with all
    // components of a cell, or of a millisecond, so there may be a few more.
    std::size_t page_rows = kImportPageRows;
};

// The result of a page, beside its rows.
struct ImportEnd {
    // When the component that had changed last before the page was read did so, by the store's
    // clock, but not after the store's own time; none if the store was empty.
    std::optional<UnixTime> newest = {};
    // The same, which may lie in the future where the store's clock was set back.
    std::optional<UnixTime> last_stamp = {};
    // The next page; none if this was the last.
    std::optional<ImportQuery> rest = {};
};

// All components of a cell, for inspection.
struct GlobalListing {
    struct Component {
        std::string region;
        Count count;
        std::chrono::milliseconds age;  // since it changed last, by the store's clock
    };
    std::vector<Component> components;  // by the names of their regions
};

// One region's connection to the store. Components are merged by max: a call may be repeated, or
// overtaken by another, and the counts still come out right.
//
// Calls block, for a bounded time. A connection is made, and made again, as calls need it; each
// checks the schema, and a call is refused where that is not the one this program knows.
//
// Owned by one thread, but for interrupt(), which any may call.
class GlobalStore {
  public:
    using Visit = std::function<void(const RegionRow&)>;

    virtual ~GlobalStore() = default;

    // Lifts this region's components where they are lower. The rows are sorted by cell, and no cell
    // comes twice. One transaction: all of it is done, or nothing, and not after kMaxCommitDelay.
    // Where the server's limit for the size of a statement is too small for that, several, of which
    // some may be done when another fails. A component that grows gets the store's time as its
    // updated_at, which never decreases; one that does not grow keeps its own. Without rows it only
    // marks the region as alive; a lost connection is noticed, too.
    //
    // Afterwards it counts the regions, and visits all components of the published cells, of this
    // region and of others: so regions learn of each other as they publish. If only that fails, the
    // call has succeeded all the same.
    virtual StoreResult<PublishEnd> publish(std::span<const RegionCount> rows,
                                            const Visit& visit) = 0;

    // Visits all components of the cells of `rows`, and counts the regions; the counts in `rows`
    // play no part.
    virtual StoreResult<PublishEnd> read(std::span<const RegionCount> rows, const Visit& visit) = 0;

    // How many connections have been made so far. When it has changed after a call, the server may
    // be another one, which may lack what was acknowledged before.
    virtual std::uint64_t connections() const = 0;

    // Reads a page, in time that depends on its size and not on that of the table. Visits each
    // component of it once, in any order, those of this region included. After a failure some may
    // have been visited.
    virtual StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) = 0;

    // Deletes at most `at_most` components, in one statement, of cells that expired more than
    // `min_age` ago by the store's clock; the caller's clock plays no part. Returns how many it
    // deleted. Several nodes may call it at the same time.
    virtual StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                                    std::size_t at_most) = 0;

    // In the order of the cells. Without cells, it only checks whether the store can be used.
    virtual StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) = 0;

    // Ends the current call, and all later ones, soon.
    virtual void interrupt() = 0;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_STORE_H_
