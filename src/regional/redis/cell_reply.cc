#include "regional/redis/cell_reply.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "regional/redis/raise_script.h"

namespace sluice {
namespace {

std::optional<Count> read_count(const RedisReply& reply) {
    if (reply.type == RedisReply::Type::kNil) return 0;
    if (reply.type == RedisReply::Type::kInteger && reply.integer >= 0)
        return std::min(static_cast<Count>(reply.integer), kMaxCount);
    if (reply.type != RedisReply::Type::kText) return std::nullopt;
    Count count = 0;
    const char* const end = reply.text.data() + reply.text.size();
    const auto [stop, failed] = std::from_chars(reply.text.data(), end, count);
    if (stop != end || reply.text.empty()) return std::nullopt;
    if (failed == std::errc::result_out_of_range) return kMaxCount;
    if (failed != std::errc{}) return std::nullopt;
    return std::min(count, kMaxCount);
}

}  // namespace

CellAnswer read_totals(const RedisReply& reply) {
    if (!reply.is_array(2)) return std::nullopt;
    const auto total = read_count(reply.elements[0]);
    const auto own = read_count(reply.elements[1]);
    if (!total || !own) return std::nullopt;
    return CellTotals{.total = *total, .own = *own};
}

CellAnswer read_raised(const RedisReply& reply, Count own) {
    if (reply.type != RedisReply::Type::kInteger) return read_totals(reply);
    const auto total = read_count(reply);
    if (!total) return std::nullopt;
    return CellTotals{.total = *total, .own = own};
}

std::optional<CellListing> read_fields(const RedisReply& reply) {
    if (reply.type != RedisReply::Type::kArray || reply.elements.size() % 2 != 0)
        return std::nullopt;
    CellListing listing;
    for (std::size_t i = 0; i < reply.elements.size(); i += 2) {
        const std::string& field = reply.elements[i].text;
        const auto count = read_count(reply.elements[i + 1]);
        if (!count) return std::nullopt;
        if (field == kTotalField) {
            listing.total = *count;
        } else {
            listing.components.push_back({.owner = field, .count = *count});
        }
    }
    const auto by_owner = [](const auto& a, const auto& b) { return a.owner < b.owner; };
    std::sort(listing.components.begin(), listing.components.end(), by_owner);
    return listing;
}

}  // namespace sluice
