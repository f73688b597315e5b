#include "regional/redis/redis_scripts.h"

#include <openssl/sha.h>

namespace sluice {
namespace {

// What the scripts that read and write cells share.
//
// Time to live and lifetime shrink together, so it is checked when an owner is new to a cell, and
// afterwards with one write in sixteen: it takes Redis a fifth of the script.
// Redis 6 may refuse a write behind PTTL otherwise; see kHeartbeat.
constexpr std::string_view kCellFunctions = R"(
if redis.replicate_commands then redis.replicate_commands() end
local kMaxCount = 9007199254740991
local kNotACell = 'ERR a cell holds something other than counts'

local function add(a, b)
  local sum = a + b
  if sum > kMaxCount then return kMaxCount end
  return sum
end

local function count(text)
  local number = tonumber(text or 0)
  if number and number >= 0 then return add(number, 0) end
end

-- Returns total and component of a cell; or nil and the error.
local function read_cell(key, owner)
  local held = redis.pcall('HMGET', key, 'total', owner)
  if held.err then return nil, held.err end
  local total, component = count(held[1]), count(held[2])
  if total and component then return total, component end
  return nil, kNotACell
end

-- A key that is new has no time to live; PTTL is -1 then.
local function write_cell(key, owner, total, component, lifetime)
  local added = redis.call('HSET', key, 'total', total, owner, component)
  if (added > 0 or component % 16 == 0) and redis.call('PTTL', key) < lifetime then
    redis.call('PEXPIRE', key, lifetime)
  end
end
)";

// What most of Redis' time goes into: without calls of functions, a fifth less. Numbers are passed
// on as texts, for a tenth less: Redis would print them as doubles.
constexpr std::string_view kSync = R"(
local call, pcall, tonumber, format = redis.call, redis.pcall, tonumber, string.format
local reply = {}
for i = 1, #KEYS do
  local key, owner, own_text = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1]
  local own = tonumber(own_text)
  local held = pcall('HMGET', key, 'total', owner)
  local total, component = tonumber(held[1] or 0), tonumber(held[2] or 0)
  if held.err or not total or not component or total < 0 or component < 0 then
    total, component = held.err or kNotACell, 0
  elseif own <= component then
    total, component = add(total, 0), add(component, 0)
  else
    total = add(total, own - component)
    component = own
    local added = call('HSET', key, 'total', format('%d', total), owner, own_text)
    if added > 0 or own % 16 == 0 then
      local lifetime = tonumber(ARGV[3 * i])
      if call('PTTL', key) < lifetime then call('PEXPIRE', key, lifetime) end
    end
  end
  reply[2 * i - 1] = total
  reply[2 * i] = component
end
return reply
)";

// The weighted count is computed exactly, though previous * weight may have 88 bits. previous is
// split into whole windows and a rest; rest * weight / duration is summed up from the highest of
// three 12-bit digits of the weight, with the remainder carried on: no step exceeds 48 bits, since
// a duration has 35. What is left over at the end rounds up, as in window/sliding.h.
constexpr std::string_view kSpend = R"(
local owner, duration = ARGV[1], tonumber(ARGV[2])

local function weighted(previous, weight)
  local rest = previous % duration
  local value = rest * math.floor(weight / 16777216)
  local carry = value % duration
  local quotient = (value - carry) / duration
  value = carry * 4096 + rest * (math.floor(weight / 4096) % 4096)
  carry = value % duration
  quotient = quotient * 4096 + (value - carry) / duration
  value = carry * 4096 + rest * (weight % 4096)
  carry = value % duration
  quotient = quotient * 4096 + (value - carry) / duration
  if carry > 0 then quotient = quotient + 1 end
  return (previous - rest) / duration * weight + quotient
end

local function spent_by_peers(total, component, at)
  local peers = math.max(total - component, tonumber(ARGV[at]), 0)
  return add(peers, tonumber(ARGV[at + 1]))
end

local total, before = read_cell(KEYS[1], owner)
if not total then return redis.error_reply(before) end
local previous_total, previous_before = read_cell(KEYS[2], owner)
if not previous_total then return redis.error_reply(previous_before) end

local used = tonumber(ARGV[3])
local component = math.max(used, before)
total = add(total, component - before)

local previous_component = math.max(tonumber(ARGV[7]), previous_before)
if previous_component > previous_before then
  previous_total = add(previous_total, previous_component - previous_before)
  write_cell(KEYS[2], owner, previous_total, previous_component, tonumber(ARGV[8]))
end

local peers = spent_by_peers(total, component, 5)
local previous = add(spent_by_peers(previous_total, previous_component, 9), previous_component)
local granted = {}
for i = 11, #ARGV, 3 do
  local weight = duration - tonumber(ARGV[i])
  local cost, limit = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local left = limit - add(peers, used) - cost
  local passes = limit > 0 and left >= 0 and weighted(previous, weight) <= left
  if passes then
    used = add(used, cost)
    if used > component then
      total = add(total, used - component)
      component = used
    end
  end
  granted[#granted + 1] = passes and '1' or '0'
end
if component > before then
  write_cell(KEYS[1], owner, total, component, tonumber(ARGV[4]))
end
return {total, component, previous_total, previous_component, table.concat(granted)}
)";

// Redis 6 refuses a write behind TIME, whose result differs between replicas, unless the effects of
// the script are replicated in its place; later versions always do that.
//
// A node with a time in the future is dropped as well: the server's clock was set back.
constexpr std::string_view kHeartbeat = R"(
if redis.replicate_commands then redis.replicate_commands() end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lifetime = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - lifetime)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + lifetime, '+inf')
local was_absent = redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], lifetime)
return {redis.call('ZCARD', KEYS[1]), was_absent, time[1], time[2]}
)";

// A field holds the time and the text. The last argument is 0 to write only: reading costs as much
// as all nodes have written. Fields of nodes that are gone are removed by reading. Redis 6 may
// refuse a write behind TIME; see kHeartbeat.
constexpr std::string_view kNote = R"(
if redis.replicate_commands then redis.replicate_commands() end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lifetime = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], table.concat({string.format('%d', now), ARGV[2]}, ' '))
redis.call('PEXPIRE', KEYS[1], lifetime)
if ARGV[4] == '0' then return {} end
local held = redis.call('HGETALL', KEYS[1])
local reply = {}
for i = 1, #held, 2 do
  local left, text = string.match(held[i + 1], '^(%d+) (.*)$')
  local age = left and now - tonumber(left)
  if age and age < lifetime and age > -lifetime then
    reply[#reply + 1] = held[i]
    reply[#reply + 1] = math.max(age, 0)
    reply[#reply + 1] = text
  else
    redis.call('HDEL', KEYS[1], held[i])
  end
end
return reply
)";

constexpr std::string_view kMarker = R"(
local value = redis.call('HGET', KEYS[1], 'value') or ARGV[1]
redis.call('HSET', KEYS[1], 'value', value)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return value
)";

constexpr std::string_view kRetire = R"(
local reply = {}
for i = 1, #KEYS do
  local owner = ARGV[math.ceil(i / 2)]
  local total, component = read_cell(KEYS[i], owner)
  if total and component > 0 then
    local stopped = count(redis.call('HGET', KEYS[i], 'stopped')) or 0
    redis.call('HSET', KEYS[i], 'stopped', add(stopped, component))
    redis.call('HDEL', KEYS[i], owner)
  end
  reply[2 * i - 1] = total or component
  reply[2 * i] = 0
end
return reply
)";

std::string sha1_of(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    std::string name;
    for (const unsigned char byte : digest) {
        name += kDigits[byte >> 4];
        name += kDigits[byte & 15];
    }
    return name;
}

RedisScript script_of(std::string_view functions, std::string_view body) {
    std::string text = std::string(functions) + std::string(body);
    std::string sha1 = sha1_of(text);
    return {.text = std::move(text), .sha1 = std::move(sha1)};
}

}  // namespace

const RedisScript& sync_script() {
    static const RedisScript script = script_of(kCellFunctions, kSync);
    return script;
}

const RedisScript& spend_script() {
    static const RedisScript script = script_of(kCellFunctions, kSpend);
    return script;
}

const RedisScript& heartbeat_script() {
    static const RedisScript script = script_of({}, kHeartbeat);
    return script;
}

const RedisScript& marker_script() {
    static const RedisScript script = script_of({}, kMarker);
    return script;
}

const RedisScript& retire_script() {
    static const RedisScript script = script_of(kCellFunctions, kRetire);
    return script;
}

const RedisScript& note_script() {
    static const RedisScript script = script_of({}, kNote);
    return script;
}

std::array<const RedisScript*, 6> all_scripts() {
    return {&sync_script(),
            &spend_script(),
            &heartbeat_script(),
            &marker_script(),
            &retire_script(),
            &note_script()};
}

}  // namespace sluice
