#include "service/inspect.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "counter/changed.h"
#include "counter/epoch.h"

namespace sluice {
namespace {

std::int64_t number(Count count) {
    return static_cast<std::int64_t>(std::min(count, kMaxCount));
}

CellInspection inspect_cell(const Entry* entry, Sequence sequence, Duration duration) {
    CellInspection cell{};
    cell.begins = start_of(sequence, duration);
    if (entry == nullptr) return cell;
    cell.admitted = number(entry->admitted(sequence).of(sequence));
    cell.settled = number(Components(*entry).of(sequence));
    cell.peers = number(entry->peers(sequence));
    cell.global = number(entry->global(sequence));
    return cell;
}

CellInspection::AtOrigin at_origin(const CellListing& listing) {
    CellInspection::AtOrigin origin{
        .total = number(listing.total), .components = {}, .lifetime = listing.lifetime};
    for (const auto& [owner, count] : listing.components)
        origin.components.push_back({owner, number(count)});
    std::ranges::sort(origin.components, {}, &CellInspection::Component::owner);
    return origin;
}

// What the store holds, and what this node knows, of the same cell.
std::vector<CellInspection::RegionComponent> regions_of(
    const GlobalListing& listing, std::span<const ComponentTable::Shown> known) {
    using Component = CellInspection::RegionComponent;
    std::vector<Component> all;
    for (const auto& [region, count, age] : listing.components)
        all.push_back({.region = region, .count = number(count), .age = age});
    for (const ComponentTable::Shown& shown : known) {
        auto found = std::ranges::find(all, shown.region, &Component::region);
        if (found == all.end())
            found = all.insert(all.end(), {.region = shown.region, .count = 0, .age = {}});
        found->known = number(shown.count);
        found->known_age = shown.age;
        found->source = shown.source == ComponentSource::kBus ? Component::Source::kBus
                                                              : Component::Source::kStore;
    }
    return all;
}

void add_first_counts_of(std::span<const ComponentTable::Shown> known,
                         std::string_view own_region,
                         CellInspection& cell) {
    for (const ComponentTable::Shown& shown : known) {
        const std::int64_t count = number(shown.count);
        // The origin's count, which may be listed already, is of the own region as well.
        if (shown.region == own_region) {
            cell.peers = std::max(cell.peers, count);
        } else {
            cell.global = std::min(cell.global + count, number(kMaxCount));
        }
    }
}

}  // namespace

Inspection inspect_entry(Table& table, const Request& request, UnixTime now) {
    const EpochPin pin;
    const Entry* const entry = table.find(table.key(request));
    const Sequence sequence = instant_at(now, request.duration).sequence;
    Inspection inspection{};
    inspection.held = entry != nullptr;
    inspection.current = inspect_cell(entry, sequence, request.duration);
    inspection.previous = inspect_cell(entry, sequence - 1, request.duration);
    if (entry == nullptr) return inspection;
    const UnixTime refreshed = entry->refreshed_at();
    if (refreshed != Entry::kNever && refreshed != Entry::kStrict)
        inspection.refreshed_at = refreshed;
    if (entry->is_strict(now)) inspection.strict_until = entry->strict_until();
    inspection.last_used = entry->last_used();
    inspection.last_limit = number(entry->last_limit());
    inspection.unsynced = entry->is_unsynced();
    return inspection;
}

std::vector<CellName> inspected_cells(const Request& request, UnixTime now) {
    CellName current{.workspace = std::string(request.workspace),
                     .name_space = std::string(request.name_space),
                     .identifier = std::string(request.identifier),
                     .duration = request.duration,
                     .sequence = instant_at(now, request.duration).sequence};
    CellName previous = current;
    --previous.sequence;
    return {std::move(current), std::move(previous)};
}

// The first request of a key that is not held is decided by the origin's counts.
void add_listings(std::span<const std::optional<CellListing>> listings, Inspection& inspection) {
    const std::array cells = {&inspection.current, &inspection.previous};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!listings[i]) continue;
        CellInspection& cell = *cells[i];
        cell.origin = at_origin(*listings[i]);
        if (!inspection.held) cell.peers = std::max(cell.peers, cell.origin->total);
    }
}

void add_first_counts(const KnownComponents& known,
                      std::string_view own_region,
                      Inspection& inspection) {
    if (inspection.held) return;
    add_first_counts_of(known.current, own_region, inspection.current);
    add_first_counts_of(known.previous, own_region, inspection.previous);
}

void add_regions(std::span<const GlobalListing> listings,
                 const KnownComponents& known,
                 Inspection& inspection) {
    inspection.current.regions = regions_of(listings[0], known.current);
    inspection.previous.regions = regions_of(listings[1], known.previous);
}

}  // namespace sluice
