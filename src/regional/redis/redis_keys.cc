#include "regional/redis/redis_keys.h"

#include <algorithm>
#include <functional>

namespace sluice {
namespace {

constexpr std::string_view kPrefix = "sluice:2:{";

constexpr Duration kMaxSpread{60'000};
constexpr int kSpreadParts = 8;

std::string escaped(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        if (c == '%') {
            result += "%25";
        } else if (c == '}') {
            result += "%7D";
        } else {
            result += c;
        }
    }
    return result;
}

void append_escaped(std::string& key, std::string_view part) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
}

// The length is that of the escaped part, so that a reader can skip it.
void append_part(std::string& key, std::string_view part) {
    if (part.find_first_of("%}") == std::string_view::npos) {
        append_escaped(key, part);
    } else {
        append_escaped(key, escaped(part));
    }
}

// A cell's key up to its sequence.
std::string tagged(std::string_view region, const CellName& cell) {
    std::string key(kPrefix);
    for (const std::string_view part : {region,
                                        std::string_view(cell.workspace),
                                        std::string_view(cell.name_space),
                                        std::string_view(cell.identifier)}) {
        append_part(key, part);
        key += ',';
    }
    key += std::to_string(cell.duration.count());
    key += "}:";
    return key;
}

constexpr std::uint16_t kPolynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> make_table() {
    std::array<std::uint16_t, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = static_cast<std::uint32_t>(byte) << 8;
        for (int bit = 0; bit < 8; ++bit)
            rest = (rest & 0x8000) != 0 ? (rest << 1) ^ kPolynomial : rest << 1;
        table[byte] = static_cast<std::uint16_t>(rest);
    }
    return table;
}

constexpr std::array<std::uint16_t, 256> kTable = make_table();

std::string_view hashed_part(std::string_view key) {
    const std::size_t open = key.find('{');
    if (open == std::string_view::npos) return key;
    const std::size_t close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) return key;
    return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::string cell_key(std::string_view region, const CellName& cell) {
    return tagged(region, cell) + std::to_string(cell.sequence);
}

std::array<std::string, 2> cell_keys(std::string_view region, const CellName& current) {
    const std::string start = tagged(region, current);
    return {start + std::to_string(current.sequence), start + std::to_string(current.sequence - 1)};
}

std::string node_set_key(std::string_view region) {
    std::string key(kPrefix);
    append_part(key, region);
    return key + "}:nodes";
}

std::string notes_key(std::string_view region) {
    std::string key(kPrefix);
    append_part(key, region);
    return key + "}:notes";
}

std::string marker_key(std::string_view region, std::string_view node, std::size_t number) {
    std::string key(kPrefix);
    append_part(key, region);
    key += ',';
    append_part(key, node);
    key += ',';
    return key + std::to_string(number) + "}:marker";
}

Duration spread_lifetime(std::string_view cell_key, Duration duration, Duration lifetime) {
    constexpr int kHashes = 1 << 16;
    const Duration most = std::min(duration / kSpreadParts, kMaxSpread);
    const auto hash = static_cast<int>(std::hash<std::string_view>{}(cell_key) % kHashes);
    return lifetime + most * hash / kHashes;
}

std::uint16_t crc16(std::string_view bytes) {
    std::uint32_t sum = 0;
    for (const char c : bytes) {
        const std::size_t index = ((sum >> 8) ^ static_cast<unsigned char>(c)) & 0xff;
        sum = ((sum << 8) & 0xffff) ^ kTable[index];
    }
    return static_cast<std::uint16_t>(sum);
}

std::uint16_t cluster_slot(std::string_view key) {
    return crc16(hashed_part(key)) % kClusterSlots;
}

}  // namespace sluice
