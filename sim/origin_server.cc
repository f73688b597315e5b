#include "sim/origin_server.h"

#include <algorithm>
#include <string_view>

#include "window/count.h"

namespace sluice::sim {
namespace {

bool is_probe(const CellName& cell) {
    return cell.workspace != "sim";
}

// What a cell takes on the wire, about: its name, two numbers there and two back.
std::uint64_t bytes_of(const CellName& cell) {
    return cell.workspace.size() + cell.name_space.size() + cell.identifier.size() + 48;
}

}  // namespace

OriginServer::Cell* OriginServer::find(KeyIndex key, Sequence sequence) {
    if (key >= contents_.places.size() || contents_.places[key] == 0) return nullptr;
    KeyCells& held = contents_.keys[contents_.places[key] - 1];
    Cell& cell = held.cells[static_cast<std::size_t>(sequence) % kTrueCells];
    const bool lives = cell.sequence == sequence && scheduler_.now() < cell.dies;
    return lives ? &cell : nullptr;
}

OriginServer::Cell& OriginServer::open(KeyIndex key, Sequence sequence) {
    if (key >= contents_.places.size()) contents_.places.resize(key + 1 + key / 4);
    if (contents_.places[key] == 0) {
        contents_.keys.emplace_back().key = key;
        contents_.places[key] = static_cast<std::uint32_t>(contents_.keys.size());
    }
    KeyCells& held = contents_.keys[contents_.places[key] - 1];
    Cell& cell = held.cells[static_cast<std::size_t>(sequence) % kTrueCells];
    cell.sequence = sequence;
    cell.total = 0;
    cell.components.clear();
    return cell;
}

CellTotals OriginServer::read(Serial node, const CellQuestion& question) {
    bytes += bytes_of(question.cell);
    if (is_probe(question.cell)) return {.total = 0, .own = 0};
    const KeyIndex key = key_of(question.cell.identifier);
    const Cell* const cell = find(key, question.cell.sequence);
    if (cell == nullptr) return {.total = 0, .own = 0};
    return {.total = cell->total,
            .own = component(node, key, question.cell.sequence, question.incarnation)};
}

CellTotals OriginServer::raise(Serial node, const CellComponent& component) {
    bytes += bytes_of(component.cell);
    const KeyIndex key = key_of(component.cell.identifier);
    Cell* cell = find(key, component.cell.sequence);
    if (cell == nullptr) {
        if (component.own == 0) return {.total = 0, .own = 0};
        cell = &open(key, component.cell.sequence);
        cell->dies = Moment{0};
    }
    cell->dies = std::max(cell->dies, scheduler_.now() + component.lifetime);
    const auto is_owner = [&](const Component& one) {
        return one.node == node && one.incarnation == component.incarnation;
    };
    auto own = std::ranges::find_if(cell->components, is_owner);
    if (own == cell->components.end()) {
        if (component.own == 0) return {.total = cell->total, .own = 0};
        cell->components.push_back({node, component.incarnation, 0});
        own = cell->components.end() - 1;
    }
    if (component.own > own->count) {
        cell->total += component.own - own->count;
        own->count = component.own;
    }
    return {.total = cell->total, .own = own->count};
}

Count OriginServer::component(Serial node,
                              KeyIndex key,
                              Sequence sequence,
                              Incarnation incarnation) {
    const Cell* const cell = find(key, sequence);
    if (cell == nullptr) return 0;
    for (const Component& one : cell->components)
        if (one.node == node && one.incarnation == incarnation) return one.count;
    return 0;
}

Count OriginServer::total(KeyIndex key, Sequence sequence) {
    const Cell* const cell = find(key, sequence);
    return cell == nullptr ? 0 : cell->total;
}

}  // namespace sluice::sim
