#include "regional/redis/cell_key.h"

namespace sluice {
namespace {

void append_part(std::string& key, std::string_view part) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
    key += ',';
}

}  // namespace

std::string cell_key(std::string_view region, const CellName& cell) {
    std::string key = "sluice{}:1:";
    append_part(key, region);
    append_part(key, cell.workspace);
    append_part(key, cell.name_space);
    append_part(key, cell.identifier);
    key += std::to_string(cell.duration.count());
    key += ':';
    key += std::to_string(cell.sequence);
    return key;
}

std::string marker_key(std::string_view region, std::string_view node) {
    std::string key = "sluice{}:node:";
    append_part(key, region);
    append_part(key, node);
    return key;
}

}  // namespace sluice
