#include "regional/redis/cluster_map.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "regional/redis/redis_keys.h"

namespace sluice {
namespace {

std::optional<std::uint16_t> slot_in(const RedisReply& reply) {
    if (reply.type != RedisReply::Type::kInteger || reply.integer < 0 ||
        reply.integer >= static_cast<std::int64_t>(kClusterSlots))
        return std::nullopt;
    return static_cast<std::uint16_t>(reply.integer);
}

std::optional<std::uint16_t> number_in(std::string_view text) {
    std::uint16_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// "?" is how Redis writes a host name that was not configured.
std::string host_or(std::string_view host, const std::string& asked_host) {
    return host.empty() || host == "?" ? asked_host : std::string(host);
}

std::optional<RedisAddress> address_in(const RedisReply& reply, const std::string& asked_host) {
    if (reply.type != RedisReply::Type::kArray || reply.elements.size() < 2) return std::nullopt;
    const RedisReply& host = reply.elements[0];
    const RedisReply& port = reply.elements[1];
    const bool is_host =
        host.type == RedisReply::Type::kText || host.type == RedisReply::Type::kNil;
    const bool is_port =
        port.type == RedisReply::Type::kInteger && port.integer > 0 && port.integer <= 65535;
    if (!is_host || !is_port) return std::nullopt;
    return RedisAddress{.host = host_or(host.text, asked_host),
                        .port = static_cast<std::uint16_t>(port.integer),
                        .socket_path = {}};
}

std::optional<SlotRange> range_in(const RedisReply& reply, const std::string& asked_host) {
    if (reply.type != RedisReply::Type::kArray || reply.elements.size() < 3) return std::nullopt;
    const auto first = slot_in(reply.elements[0]);
    const auto last = slot_in(reply.elements[1]);
    auto master = address_in(reply.elements[2], asked_host);
    if (!first || !last || *last < *first || !master) return std::nullopt;
    return SlotRange{.first = *first, .last = *last, .master = *std::move(master)};
}

}  // namespace

std::optional<std::vector<SlotRange>> read_cluster_slots(const RedisReply& reply,
                                                         const std::string& asked_host) {
    if (reply.type != RedisReply::Type::kArray) return std::nullopt;
    std::vector<SlotRange> ranges;
    for (const RedisReply& element : reply.elements) {
        auto range = range_in(element, asked_host);
        if (!range) return std::nullopt;
        ranges.push_back(*std::move(range));
    }
    return ranges;
}

std::optional<Redirection> read_redirection(const RedisReply& reply,
                                            const std::string& asked_host) {
    const bool is_final = reply.is_error("MOVED");
    if (!is_final && !reply.is_error("ASK")) return std::nullopt;
    std::string_view rest = reply.text;
    rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
    const std::size_t space = rest.find(' ');
    const std::size_t colon = rest.rfind(':');  // an IPv6 address holds more of them
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space)
        return std::nullopt;
    const auto slot = number_in(rest.substr(0, space));
    const auto port = number_in(rest.substr(colon + 1));
    if (!slot || *slot >= kClusterSlots || !port || *port == 0) return std::nullopt;
    const std::string_view host = rest.substr(space + 1, colon - space - 1);
    return Redirection{
        .is_final = is_final,
        .slot = *slot,
        .target = {.host = host_or(host, asked_host), .port = *port, .socket_path = {}}};
}

}  // namespace sluice
