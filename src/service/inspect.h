// What this node holds of a key, for a person who wants to know.
#ifndef SLUICE_SERVICE_INSPECT_H_
#define SLUICE_SERVICE_INSPECT_H_

#include <sluice/limiter.h>

#include <span>
#include <vector>

#include "counter/table.h"
#include "global/store.h"
#include "regional/origin.h"

namespace sluice {

// The key of `request` at `now`, without what the origin knows.
Inspection inspect_entry(Table& table, const Request& request, UnixTime now);

// The cells that belong to it: the current one, then the previous one.
std::vector<CellName> inspected_cells(const Request& request, UnixTime now);

// Adds what the origin holds of these cells.
void add_listings(std::span<const std::optional<CellListing>> listings, Inspection& inspection);

// Adds what the global store holds of them.
void add_regions(std::span<const GlobalListing> listings, Inspection& inspection);

}  // namespace sluice

#endif  // SLUICE_SERVICE_INSPECT_H_
