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

template <class Components, class Own>
auto find_component(Components& components, const Own& own) {
    return std::ranges::find_if(components, [&](const auto& one) {
        return one.node == own.node && one.incarnation == own.incarnation;
    });
}

}  // namespace

OriginServer::OwnCell OriginServer::own_cell(Serial node,
                                             const KeyComponents& key,
                                             std::size_t index) {
    return {.key = key_of(key.current.identifier),
            .sequence = key.current.sequence - static_cast<Sequence>(index),
            .node = node,
            .incarnation = key.incarnation};
}

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

CellTotals OriginServer::read(const OwnCell& own) {
    const Cell* const cell = find(own.key, own.sequence);
    if (cell == nullptr) return {};
    const auto found = find_component(cell->components, own);
    return {.total = cell->total, .own = found == cell->components.end() ? 0 : found->count};
}

CellTotals OriginServer::lift(const OwnCell& own, Count to, Duration lifetime) {
    if (to == 0 || lifetime <= Duration::zero()) return read(own);
    Cell* cell = find(own.key, own.sequence);
    if (cell == nullptr) cell = open(own.key, own.sequence);
    cell->dies = std::max(cell->dies, scheduler_.now() + lifetime);
    auto found = find_component(cell->components, own);
    if (found == cell->components.end())
        found = cell->components.insert(found, {own.node, own.incarnation, 0});
    if (to > found->count) {
        cell->total += to - found->count;
        found->count = to;
    }
    return {.total = cell->total, .own = found->count};
}

KeyTotals OriginServer::read(Serial node, const KeyComponents& key) {
    return {read(own_cell(node, key, 0)), read(own_cell(node, key, 1))};
}

KeyTotals OriginServer::sync(Serial node, const KeyComponents& key) {
    bytes += bytes_of(key.current);
    const CellTotals current = lift(own_cell(node, key, 0), key.own[0], key.lifetime);
    if (!key.has_previous) return {current, CellTotals{}};
    const Duration lifetime = key.lifetime - key.current.duration;
    return {current, lift(own_cell(node, key, 1), key.own[1], lifetime)};
}

KeyGrants OriginServer::spend(Serial node, const KeySpend& spend) {
    bytes += kRequestBytes * spend.requests.size();
    const KeyComponents& key = spend.components;
    KeyGrants grants = decide_at_origin(spend, sync(node, key));
    lift(own_cell(node, key, 0), grants.totals[0].own, key.lifetime);
    return grants;
}

KeyTotals OriginServer::retire(Serial node, const KeyComponents& key) {
    bytes += bytes_of(key.current);
    move_to_stopped(own_cell(node, key, 0));
    move_to_stopped(own_cell(node, key, 1));
    return read(node, key);
}

void OriginServer::move_to_stopped(const OwnCell& own) {
    Cell* const cell = find(own.key, own.sequence);
    if (cell == nullptr) return;
    const auto found = find_component(cell->components, own);
    if (found == cell->components.end()) return;
    const Count count = found->count;
    cell->components.erase(found);
    auto stopped = find_component(cell->components, OwnCell{.node = kStoppedNodes});
    if (stopped == cell->components.end())
        stopped = cell->components.insert(stopped, {kStoppedNodes, 0, 0});
    stopped->count += count;
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
    return read(OwnCell{key, sequence, node, incarnation}).own;
}

Count OriginServer::total(KeyIndex key, Sequence sequence) {
    const Cell* const cell = find(key, sequence);
    return cell == nullptr ? 0 : cell->total;
}

}  // namespace sluice::sim
