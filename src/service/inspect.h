// Inspection of a key: the counts of this node, of the origin and of the global store.
#ifndef SLUICE_SERVICE_INSPECT_H_
#define SLUICE_SERVICE_INSPECT_H_

#include <sluice/limiter.h>

#include <span>
#include <string_view>
#include <vector>

#include "counter/table.h"
#include "global/component_table.h"
#include "global/store.h"
#include "regional/origin.h"

namespace sluice {

// Returns the state of the key of `request` at `now` on this node.
Inspection inspect_entry(Table& table, const Request& request, UnixTime now);

// Returns its cells: the current one, then the previous one.
std::vector<CellName> inspected_cells(const Request& request, UnixTime now);

// Adds the counts of these cells at the origin.
void add_listings(std::span<const std::optional<CellListing>> listings, Inspection& inspection);

// What this node knows of the regions' components of these cells.
struct KnownComponents {
    std::vector<ComponentTable::Shown> current;
    std::vector<ComponentTable::Shown> previous;
};
// Gives a key that this node does not hold the counts with which its entry would begin.
void add_first_counts(const KnownComponents& known,
                      std::string_view own_region,
                      Inspection& inspection);

// Adds what is known, and the listings of the global store.
void add_regions(std::span<const GlobalListing> listings,
                 const KnownComponents& known,
                 Inspection& inspection);

}  // namespace sluice

#endif  // SLUICE_SERVICE_INSPECT_H_
