// Calls to a store that must work, and what they found.
#ifndef SLUICE_TESTS_SUPPORT_STORE_CALLS_H_
#define SLUICE_TESTS_SUPPORT_STORE_CALLS_H_

#include <sluice/time.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "global/store.h"

namespace sluice::global_test {

inline constexpr Duration kMinute{60'000};

// Of the namespace n in the workspace w.
CellName cell_of(std::string identifier, Sequence sequence = 10, Duration duration = kMinute);

// (sequence + 2) * duration
UnixTime end_of(const CellName& cell);

// The counts of a cell by region.
using Components = std::map<std::string, Count>;
Count sum_of(const Components& components);

struct Imported {
    std::map<CellName, Components> cells;
    std::optional<UnixTime> newest;
    std::optional<UnixTime> last_stamp;
    std::size_t visits = 0;
    std::size_t pages = 0;

    // Of a cell that must be there.
    Components of(const CellName& cell) const;
    Components of(const std::string& identifier) const { return of(cell_of(identifier)); }
};

// What a publish or a read has visited.
struct ReadBack {
    std::map<CellName, Components> cells;
    std::size_t visits = 0;
    std::optional<std::size_t> regions;
};

// Each fails the test where the store does.
ReadBack publish(GlobalStore& store, std::vector<RegionCount> rows);
ReadBack publish(GlobalStore& store, const CellName& cell, Count count);
ReadBack publish(GlobalStore& store, const std::string& identifier, Count count);
ReadBack read(GlobalStore& store, const std::vector<CellName>& cells);
// Page by page, to the end.
Imported import(GlobalStore& store, const ImportQuery& query);
Imported import_all(GlobalStore& store, UnixTime living_at = UnixTime{});
Imported import_changed(GlobalStore& store, UnixTime since, UnixTime living_at = UnixTime{});
std::size_t delete_expired(GlobalStore& store,
                           std::chrono::milliseconds min_age,
                           std::size_t at_most);
GlobalListing list(GlobalStore& store, const CellName& cell);

// Why a publish failed; none if it did not.
std::optional<StoreFailure> try_publish(GlobalStore& store, const std::vector<RegionCount>& rows);
// Why a publish of one row fails; fails the test where it does not.
StoreFailure failure_of(GlobalStore& store);

}  // namespace sluice::global_test

#endif  // SLUICE_TESTS_SUPPORT_STORE_CALLS_H_
