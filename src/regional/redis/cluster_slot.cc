#include "regional/redis/cluster_slot.h"

#include <array>

namespace sluice {
namespace {

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
