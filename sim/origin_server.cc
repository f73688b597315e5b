#include "sim/origin_server.h"

#include <algorithm>

#include "regional/origin.h"
#include "window/cell.h"

namespace sluice::sim {
namespace {

// Approximate size of a call per key: its name, four numbers each way.
std::uint64_t bytes_of(const CellName& cell) {
    return cell.workspace.size() + cell.name_space.size() + cell.identifier.size() + 96;
}

// Added by each request to decide.
constexpr std::uint64_t kRequestBytes = 24;

}  // namespace

OriginServer::Cell* OriginServer::find(KeyIndex key, Sequence sequence) {
    if (key >= contents_.places.size() || contents_.places[key] == 0) return nullptr;
    KeyCells& held = contents_.keys[contents_.places[key] - 1];
    const auto cell = std::ranges::find(held.cells, sequence, &Cell::sequence);
    const bool lives = cell != held.cells.end() && scheduler_.now() < cell->dies;
    return lives ? &*cell : nullptr;
}

OriginServer::Cell* OriginServer::open(KeyIndex key, Sequence sequence) {
    if (key >= contents_.places.size()) contents_.places.resize(key + 1 + key / 4);
    if (contents_.places[key] == 0) {
        contents_.keys.emplace_back().key = key;
        contents_.places[key] = static_cast<std::uint32_t>(contents_.keys.size());
    }
    KeyCells& held = contents_.keys[contents_.places[key] - 1];
    std::erase_if(held.cells, [&](const Cell& cell) { return scheduler_.now() >= cell.dies; });
    Cell& cell = held.cells.emplace_back();
    cell.sequence = sequence;
    return &cell;
}

CellTotals OriginServer::read(const OriginCell::Owner& owner, const CellName& name) {
    const Cell* const cell = find(key_of(name.identifier), name.sequence);
    return cell == nullptr ? CellTotals{} : cell->counts.read(owner);
}

CellTotals OriginServer::lift(const OriginCell::Owner& owner, const CellComponent& component) {
    const bool is_read = component.own == 0 && component.peers == 0;
    if (is_read || component.lifetime <= Duration::zero()) return read(owner, component.cell);
    const KeyIndex key = key_of(component.cell.identifier);
    Cell* cell = find(key, component.cell.sequence);
    if (cell == nullptr) cell = open(key, component.cell.sequence);
    cell->dies = std::max(cell->dies, scheduler_.now() + component.lifetime);
    return cell->counts.lift(owner, component);
}

KeyTotals OriginServer::lift(Serial node, const KeyComponents& key) {
    const OriginCell::Owner owner{node, key.incarnation};
    const auto [current, previous] = cells_of(key);
    const CellTotals totals = lift(owner, current);
    return {totals, key.has_previous ? lift(owner, previous) : CellTotals{}};
}

KeyTotals OriginServer::read(Serial node, const KeyComponents& key) {
    const OriginCell::Owner owner{node, key.incarnation};
    const auto [current, previous] = cells_of(key);
    return {read(owner, current.cell), read(owner, previous.cell)};
}

KeyTotals OriginServer::sync(Serial node, const KeyComponents& key) {
    bytes += bytes_of(key.current);
    return lift(node, key);
}

KeyGrants OriginServer::spend(Serial node, const KeySpend& spend) {
    bytes += kRequestBytes * spend.requests.size();
    const KeyComponents& key = spend.components;
    const KeyTotals held = sync(node, key);
    const OriginCell::Owner owner{node, key.incarnation};
    const Cell* const cell = find(key_of(key.current.identifier), key.current.sequence);
    if (cell != nullptr && cell->counts.is_superseded(owner))
        return {.totals = held, .granted = std::vector<bool>(spend.requests.size())};
    KeyGrants grants = decide_at_origin(spend, held);
    CellComponent granted = cells_of(key)[0];
    granted.own = grants.totals[0].own;
    granted.peers = 0;  // they may have read what is credit now
    lift(owner, granted);
    return grants;
}

Heartbeat OriginServer::beat(Serial node) {
    const Moment now = scheduler_.now();
    std::erase_if(contents_.heartbeats,
                  [&](const auto& last) { return now - last.second >= kNodeLifetime; });
    const bool has_joined = contents_.heartbeats.insert_or_assign(node, now).second;
    return {.nodes = static_cast<std::uint32_t>(contents_.heartbeats.size()),
            .has_joined = has_joined,
            .clock_offset = {}};
}

Count OriginServer::component(Serial node,
                              KeyIndex key,
                              Sequence sequence,
                              Incarnation incarnation) {
    const Cell* const cell = find(key, sequence);
    if (cell == nullptr) return 0;
    const OriginCell::Owner owner{node, incarnation};
    return cell->counts.read(cell->counts.is_superseded(owner) ? OriginCell::Owner{node, 0} : owner)
        .own;
}

Count OriginServer::total(KeyIndex key, Sequence sequence) {
    const Cell* const cell = find(key, sequence);
    return cell == nullptr ? 0 : cell->counts.spent();
}

}  // namespace sluice::sim
