#include "support/held_cells.h"

#include <charconv>
#include <set>
#include <stdexcept>

namespace sluice::regional_test {
namespace {

using redis_test::RedisServer;
using redis_test::Reply;

constexpr std::string_view kPrefix = "sluice:2:{";

std::int64_t take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{}) throw std::runtime_error("no number in a cell's key");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

void skip(std::string_view& text, std::string_view expected) {
    if (!text.starts_with(expected)) throw std::runtime_error("a key is that of no cell");
    text.remove_prefix(expected.size());
}

std::string take_part(std::string_view& text) {
    const auto size = static_cast<std::size_t>(take_number(text));
    skip(text, ":");
    if (text.size() < size) throw std::runtime_error("a part of a cell's key is cut short");
    std::string part;
    for (std::size_t at = 0; at < size; ++at) {
        if (text[at] == '%') {
            part += text.substr(at, 3) == "%25" ? '%' : '}';
            at += 2;
        } else {
            part += text[at];
        }
    }
    text.remove_prefix(size);
    skip(text, ",");
    return part;
}

// The number behind "cmdstat_NAME:calls="; 0 if there is none.
std::int64_t calls_in(const std::string& info, const std::string& name) {
    const std::string label = "cmdstat_" + name + ":calls=";
    const std::size_t at = info.find(label);
    if (at == std::string::npos) return 0;
    std::string_view rest = std::string_view(info).substr(at + label.size());
    return take_number(rest);
}

}  // namespace

std::vector<std::string> held_keys(RedisServer& redis) {
    std::set<std::string> keys;
    std::string cursor = "0";
    do {
        const Reply reply = redis.command({"SCAN", cursor, "COUNT", "500"});
        if (reply.list.size() != 2) throw std::runtime_error("SCAN failed: " + reply.text);
        cursor = reply.list[0].text;
        for (const Reply& key : reply.list[1].list)
            keys.insert(key.text);
    } while (cursor != "0");
    return {keys.begin(), keys.end()};
}

// What follows the braces is the sequence of a cell, or else a word.
bool is_cell_key(std::string_view key) {
    return key.starts_with(kPrefix) && key.back() >= '0' && key.back() <= '9';
}

HeldCell held_cell(RedisServer& redis, const std::string& key) {
    HeldCell cell{.key = key};
    const Reply fields = redis.command({"HGETALL", key});
    for (std::size_t i = 0; i + 1 < fields.list.size(); i += 2) {
        const std::int64_t count = std::stoll(fields.list[i + 1].text);
        if (fields.list[i].text == "total") {
            cell.total = count;
        } else {
            cell.sum += count;
            ++cell.owners;
        }
    }
    return cell;
}

std::vector<HeldCell> held_cells(RedisServer& redis) {
    std::vector<HeldCell> cells;
    for (const std::string& key : held_keys(redis))
        if (is_cell_key(key)) cells.push_back(held_cell(redis, key));
    return cells;
}

std::map<std::string, std::int64_t> totals_by_identifier(RedisServer& redis) {
    std::map<std::string, std::int64_t> totals;
    for (const HeldCell& cell : held_cells(redis)) {
        std::int64_t& total = totals[parts_of(cell.key).identifier];
        total = cell.total == cell.sum && total >= 0 ? total + cell.total : -1;
    }
    return totals;
}

std::int64_t total_of(RedisServer& redis, const std::string& identifier) {
    const auto totals = totals_by_identifier(redis);
    const auto found = totals.find(identifier);
    return found == totals.end() ? 0 : found->second;
}

KeyParts parts_of(std::string_view key) {
    KeyParts parts{};
    skip(key, kPrefix);
    parts.region = take_part(key);
    parts.workspace = take_part(key);
    parts.name_space = take_part(key);
    parts.identifier = take_part(key);
    parts.duration = take_number(key);
    skip(key, "}:");
    parts.sequence = take_number(key);
    if (!key.empty()) throw std::runtime_error("a cell's key goes on where it should end");
    return parts;
}

std::int64_t cells_read(RedisServer& redis) {
    const std::string info = redis.command({"INFO", "commandstats"}).text;
    return calls_in(info, "hmget") - calls_in(info, "evalsha") - calls_in(info, "eval");
}

}  // namespace sluice::regional_test
