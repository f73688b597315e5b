#include "regional/redis/origin_commands.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/random.h"
#include "regional/redis/redis_keys.h"
#include "regional/redis/redis_scripts.h"

namespace sluice {
namespace {

using Type = RedisReply::Type;

// A node sends a heartbeat four times a second. Its marker survives a long pause of the node.
constexpr Duration kMarkerLifetime{60'000};

// How much longer a cell is kept than decisions need it: a spend is decided by the cells of its
// time until its callers have ceased to wait.
constexpr Duration kKeptLonger{2'000};

CommandWriter script_call(const RedisScript& script,
                          std::size_t keys,
                          std::size_t arguments,
                          std::size_t bytes) {
    CommandWriter writer(3 + keys + arguments, 64 + bytes);
    writer.add("EVALSHA").add(script.sha1).add(std::uint64_t{keys});
    return writer;
}

std::uint64_t number_of(Duration duration) {
    return static_cast<std::uint64_t>(duration.count());
}

// How long Redis keeps a cell of a key: 0 is the current one, 1 the previous.
Duration lifetime_of(const CellKeys& keys, const KeyComponents& components, std::size_t cell) {
    const Duration duration = components.current.duration;
    const Duration matters = components.lifetime - static_cast<int>(cell) * duration;
    return kKeptLonger + spread_lifetime(keys[cell], duration, std::max(matters, Duration{1}));
}

std::size_t cells_in(const KeyComponents& key) {
    return key.has_previous ? 2 : 1;
}

// What the node knows of a cell, none of which matters once the cell does not.
CellComponent known_of(const KeyComponents& key, std::size_t cell) {
    const Duration matters = key.lifetime - static_cast<int>(cell) * key.current.duration;
    const bool is_used = matters > Duration::zero();
    return {.cell = {},
            .own = key.own[cell],
            .peers = is_used ? key.peers[cell] : 0,
            .lifetime = matters};
}

// About how long the words of a command are.
std::size_t bytes_of(std::span<const KeyedComponents> keys) {
    std::size_t bytes = 0;
    for (const KeyedComponents& key : keys)
        bytes += 2 * key.keys[0].size() + 64;
    return bytes;
}

std::optional<Count> read_count(const RedisReply& reply) {
    if (reply.type == Type::kInteger && reply.integer >= 0)
        return std::min(static_cast<Count>(reply.integer), kMaxCount);
    if (reply.type != Type::kText || reply.text.empty()) return std::nullopt;
    Count count = 0;
    const char* const end = reply.text.data() + reply.text.size();
    const auto [stop, failed] = std::from_chars(reply.text.data(), end, count);
    if (stop != end) return std::nullopt;
    if (failed == std::errc::result_out_of_range) return kMaxCount;
    if (failed != std::errc{}) return std::nullopt;
    return std::min(count, kMaxCount);
}

// Total and component of one cell or both.
std::optional<KeyTotals> read_key(std::span<const RedisReply> elements) {
    KeyTotals totals;
    for (std::size_t cell = 0; cell < elements.size() / 2; ++cell) {
        const RedisReply& first = elements[2 * cell];
        const bool is_pair = first.is_array(2);
        const auto total = read_count(is_pair ? first.elements[0] : first);
        const auto own = read_count(elements[2 * cell + 1]);
        const auto known = is_pair ? read_count(first.elements[1]) : Count{0};
        if (!total || !own || !known) return std::nullopt;
        totals[cell] = {.total = *total, .own = *own, .known = *known};
    }
    return totals;
}

}  // namespace

std::vector<KeyGroup> group_keys(std::string_view region,
                                 const std::vector<KeyComponents>& keys,
                                 KeyPlacement placement) {
    std::vector<CellKeys> names;
    std::vector<std::pair<std::uint16_t, std::size_t>> order;  // slot, index
    for (std::size_t i = 0; i < keys.size(); ++i) {
        names.push_back(cell_keys(region, keys[i].current));
        const bool is_sharded = placement == KeyPlacement::kBySlot;
        order.emplace_back(is_sharded ? cluster_slot(names[i][0]) : std::uint16_t{0}, i);
    }
    if (placement == KeyPlacement::kBySlot) std::sort(order.begin(), order.end());
    std::vector<KeyGroup> groups;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto [slot, index] = order[i];
        const bool is_new =
            i == 0 || slot != order[i - 1].first || groups.back().keys.size() == kKeysPerCall;
        if (is_new) groups.emplace_back();
        groups.back().cells.push_back({.index = index, .cells = cells_in(keys[index])});
        groups.back().keys.push_back({std::move(names[index]), &keys[index]});
    }
    return groups;
}

std::string sync_command(const std::string& node, std::span<const KeyedComponents> keys) {
    std::size_t cells = 0;
    for (const KeyedComponents& key : keys)
        cells += cells_in(*key.components);
    CommandWriter writer = script_call(sync_script(), cells, 4 * cells, bytes_of(keys));
    for (const KeyedComponents& key : keys)
        for (std::size_t cell = 0; cell < cells_in(*key.components); ++cell)
            writer.add(key.keys[cell]);
    for (const auto& [names, components] : keys) {
        const std::string owner = owner_name(node, components->incarnation);
        for (std::size_t cell = 0; cell < cells_in(*components); ++cell) {
            const CellComponent known = known_of(*components, cell);
            writer.add(owner).add(known.own).add(known.peers);
            writer.add(number_of(lifetime_of(names, *components, cell)));
        }
    }
    return writer.take();
}

std::string spend_command(const std::string& node,
                          const CellKeys& keys,
                          const KeySpend& spend,
                          std::chrono::milliseconds expires) {
    const KeyComponents& components = spend.components;
    const std::size_t requests = spend.requests.size();
    CommandWriter writer =
        script_call(spend_script(), 2, 11 + 3 * requests, 2 * keys[0].size() + 160);
    writer.add(keys[0]).add(keys[1]);
    writer.add(owner_name(node, components.incarnation));
    writer.add(number_of(components.current.duration)).add(number_of(expires));
    for (std::size_t cell = 0; cell < 2; ++cell) {
        const CellComponent known = known_of(components, cell);
        writer.add(known.own).add(number_of(lifetime_of(keys, components, cell)));
        writer.add(known.peers).add(spend.extra[cell]);
    }
    for (const auto& [elapsed, ask] : spend.requests)
        writer.add(number_of(elapsed)).add(ask.cost).add(ask.limit);
    return writer.take();
}

std::string heartbeat_command(std::string_view node_set, std::string_view node) {
    return script_call(heartbeat_script(), 1, 2, 128)
        .add(node_set)
        .add(node)
        .add(number_of(kNodeLifetime))
        .take();
}

std::string note_command(std::string_view notes, const NoteOfNode& note) {
    return script_call(note_script(), 1, 4, 128 + note.text.size())
        .add(notes)
        .add(note.node)
        .add(note.text)
        .add(number_of(kNodeLifetime))
        .add(note.reads ? "1" : "0")
        .take();
}

std::string marker_command(std::string_view marker) {
    return script_call(marker_script(), 1, 2, 128)
        .add(marker)
        .add(system_random())
        .add(number_of(kMarkerLifetime))
        .take();
}

std::optional<SyncReply> read_totals(const RedisReply& reply, std::span<const CellsOfKey> keys) {
    std::size_t cells = 0;
    for (const CellsOfKey& key : keys)
        cells += key.cells;
    if (!reply.is_array(2 * cells + 1)) return std::nullopt;
    const auto lost = read_count(reply.elements.back());
    if (!lost) return std::nullopt;
    SyncReply read{.answers = std::vector<KeyAnswer>(keys.size()), .has_lost = *lost > 0};
    std::size_t at = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::span elements = std::span(reply.elements).subspan(at, 2 * keys[i].cells);
        at += elements.size();
        const auto failed =
            std::find_if(elements.begin(), elements.end(), [](const RedisReply& one) {
                return one.type == Type::kText;
            });
        if (failed != elements.end()) {
            read.answers[i].key_error = failed->text;
            continue;
        }
        const auto totals = read_key(elements);
        if (!totals) return std::nullopt;
        read.answers[i] = *totals;
    }
    return read;
}

std::optional<SpendReply> read_grants(const RedisReply& reply, std::size_t requests) {
    if (!reply.is_array(6)) return std::nullopt;
    const auto totals = read_key(std::span(reply.elements).first(4));
    const std::string& granted = reply.elements[4].text;
    const auto lost = read_count(reply.elements[5]);
    const bool is_complete =
        granted.size() == requests && granted.find_first_not_of("01") == std::string::npos;
    if (!totals || !is_complete || !lost) return std::nullopt;
    SpendReply read{.grants = {.totals = *totals, .granted = {}}, .has_lost = *lost > 0};
    read.grants.granted.reserve(requests);
    for (const char verdict : granted)
        read.grants.granted.push_back(verdict == '1');
    return read;
}

std::optional<HeartbeatReply> read_heartbeat(const RedisReply& reply) {
    if (!reply.is_array(4)) return std::nullopt;
    std::array<Count, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = read_count(reply.elements[i]);
        if (!number) return std::nullopt;
        numbers[i] = *number;
    }
    const auto [nodes, was_absent, seconds, microseconds] = numbers;
    constexpr Count kMaxSeconds = Count{1} << 40;
    if (nodes == 0 || nodes > UINT32_MAX || seconds > kMaxSeconds || microseconds >= 1'000'000)
        return std::nullopt;
    return HeartbeatReply{
        .nodes = static_cast<std::uint32_t>(nodes),
        .was_absent = was_absent != 0,
        .time = std::chrono::milliseconds(seconds * 1'000 + microseconds / 1'000)};
}

std::optional<std::vector<NodeNote>> read_notes(const RedisReply& reply) {
    if (reply.type != Type::kArray || reply.elements.size() % 3 != 0) return std::nullopt;
    std::vector<NodeNote> notes;
    for (std::size_t i = 0; i < reply.elements.size(); i += 3) {
        const auto age = read_count(reply.elements[i + 1]);
        const bool is_text =
            reply.elements[i].type == Type::kText && reply.elements[i + 2].type == Type::kText;
        if (!age || *age > static_cast<Count>(kNodeLifetime.count()) || !is_text)
            return std::nullopt;
        notes.push_back({.node = reply.elements[i].text,
                         .age = Duration{static_cast<std::int64_t>(*age)},
                         .text = reply.elements[i + 2].text});
    }
    return notes;
}

std::optional<CellListing> read_listing(const RedisReply& reply) {
    if (reply.type != Type::kArray || reply.elements.size() % 2 != 0) return std::nullopt;
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
