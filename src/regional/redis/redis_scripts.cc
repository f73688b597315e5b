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
local kNotACell = 'NOTACELL the key holds something other than counts'
-- Cells that lacked counts which a node had read.
local found_lost = 0

local function add(a, b)
  local sum = a + b
  if sum > kMaxCount then return kMaxCount end
  return sum
end

local function count(text)
  local number = tonumber(text or 0)
  if number and number >= 0 then return add(number, 0) end
end

-- Total, component and what is known to have been spent, from the fields total, lost and that of the
-- owner; or nil and the error.
local function read_cell(held)
  if held.err then return nil, held.err end
  local spent, component, missing = count(held[1]), count(held[2]), count(held[3])
  if not (spent and component and missing) then return nil, kNotACell end
  if missing > 0 then return math.max(spent - missing, 0), component, spent end
  return spent, component, 0
end

-- Looks at the components of other incarnations of the node. Returns whether one is later. With
-- `adds`, adds the others to the base of the node.
local function has_successor(key, owner, adds)
  local node, number = string.match(owner, '^(.*)%.(%d+)$')
  if not node then return false end
  local found = false
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local other_node, other = string.match(field, '^(.*)%.(%d+)$')
    if other_node == node and other ~= number then
      if (other - number) % 4294967296 < 2147483648 then
        found = true
      elseif adds then
        local base = count(redis.call('HGET', key, node)) or 0
        redis.call('HSET', key, node, add(base, count(redis.call('HGET', key, field)) or 0))
        redis.call('HDEL', key, field)
      end
    end
  end
  return found
end

-- A key that is new has no time to live; PTTL is -1 then.
local function write_cell(key, owner, held, total, component, known, lifetime)
  local spent, added = total, 0
  if known > total then
    spent = known
    redis.call('HSET', key, 'lost', known - total)
  elseif held[3] then
    redis.call('HDEL', key, 'lost')
  end
  if component > 0 then
    if not held[2] then has_successor(key, owner, true) end
    added = redis.call('HSET', key, 'total', spent, owner, component)
  else
    added = redis.call('HSET', key, 'total', spent)
  end
  if (added > 0 or component % 16 == 0) and redis.call('PTTL', key) < lifetime then
    redis.call('PEXPIRE', key, lifetime)
  end
end

-- Lifts the counts of a cell as OriginCell::lift() in regional/origin_cell.h does, without writing
-- them. Returns them, whether they changed, and whether the call is superseded.
local function lift(key, owner, held, own, peers, total, component, known)
  if not held[2] and total > 0 and has_successor(key, owner, false) then
    return total, component, known, false, true
  end
  local changed = own > component
  if changed then
    total = add(total, own - component)
    component = own
  end
  local least = add(own, peers)
  if least > total and least > known then
    known = least
    changed = true
    found_lost = found_lost + 1
  end
  return total, component, known, changed, false
end
)";

// What most of Redis' time goes into: the usual call is served without calls of functions, which
// takes a fifth less. Numbers are passed on as texts, for a tenth less: Redis would print them as
// doubles. A reply has the total, or a pair with what is known to have been spent if that is more.
constexpr std::string_view kSync = R"(
local call, pcall, tonumber, format = redis.call, redis.pcall, tonumber, string.format
local find = string.find
local reply = {}
for i = 1, #KEYS do
  local key, owner, own_text = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i - 2]
  local own, peers = tonumber(own_text), tonumber(ARGV[4 * i - 1])
  local held = pcall('HMGET', key, 'total', owner, 'lost')
  local total, component = tonumber(held[1] or 0), tonumber(held[2] or 0)
  if not total or not component or not (total >= 0 and component >= 0) or held.err or held[3] or
      peers > total - component or (not held[2] and find(owner, '.', 1, true)) then
    local known
    total, component, known = read_cell(held)
    if total then
      local changed
      total, component, known, changed =
        lift(key, owner, held, own, peers, total, component, known)
      if changed then
        write_cell(key, owner, held, total, component, known, tonumber(ARGV[4 * i]))
      end
      if known > total then total = {total, known} end
    else
      total, component = component, 0
    end
  elseif own <= component then
    total, component = add(total, 0), add(component, 0)
  else
    total = add(total, own - component)
    component = own
    local added = call('HSET', key, 'total', format('%d', total), owner, own_text)
    if added > 0 or own % 16 == 0 then
      local lifetime = tonumber(ARGV[4 * i])
      if call('PTTL', key) < lifetime then call('PEXPIRE', key, lifetime) end
    end
  end
  reply[2 * i - 1] = total
  reply[2 * i] = component
end
reply[2 * #KEYS + 1] = found_lost
return reply
)";

// The weighted count is computed exactly, though previous * weight may have 88 bits. previous is
// split into whole windows and a rest; rest * weight / duration is summed up from the highest of
// three 12-bit digits of the weight, with the remainder carried on: no step exceeds 48 bits, since
// a duration has 35. What is left over at the end rounds up, as in window/sliding.h.
constexpr std::string_view kSpend = R"(
local owner, duration = ARGV[1], tonumber(ARGV[2])

local time = redis.call('TIME')
if time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(ARGV[3]) then
  return redis.error_reply('LATE the callers have ceased to wait')
end

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

local held = redis.pcall('HMGET', KEYS[1], 'total', owner, 'lost')
local total, component, known = read_cell(held)
if not total then return redis.error_reply(component) end
local held_before = redis.pcall('HMGET', KEYS[2], 'total', owner, 'lost')
local previous, previous_own, previous_known = read_cell(held_before)
if not previous then return redis.error_reply(previous_own) end

local used, peers, previous_peers = tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[10])
local changed, superseded, previous_changed
total, component, known, changed, superseded =
  lift(KEYS[1], owner, held, used, peers, total, component, known)
previous, previous_own, previous_known, previous_changed = lift(
  KEYS[2], owner, held_before, tonumber(ARGV[8]), previous_peers, previous, previous_own,
  previous_known)
if previous_changed then
  write_cell(KEYS[2], owner, held_before, previous, previous_own, previous_known,
             tonumber(ARGV[9]))
end

local others = add(math.max(total - component, known - component, peers), tonumber(ARGV[7]))
local spent_before = add(
  math.max(previous - previous_own, previous_known - previous_own, previous_peers),
  tonumber(ARGV[11]))
spent_before = add(spent_before, previous_own)
local granted = {}
for i = 12, #ARGV, 3 do
  local weight = duration - tonumber(ARGV[i])
  local cost, limit = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local left = limit - add(others, used) - cost
  local passes = not superseded and limit > 0 and left >= 0 and
      (spent_before == 0 or weighted(spent_before, weight) <= left)
  if passes then
    used = add(used, cost)
    if used > component then
      total = add(total, used - component)
      component = used
      changed = true
    end
  end
  granted[#granted + 1] = passes and '1' or '0'
end
if changed then
  write_cell(KEYS[1], owner, held, total, component, known, tonumber(ARGV[5]))
end
if known > total then total = {total, known} end
if previous_known > previous then previous = {previous, previous_known} end
return {total, component, previous, previous_own, table.concat(granted), found_lost}
)";

// For keys that hold nothing of value for longer than a few heartbeats: a value of another type,
// which someone else has put there, is replaced.
constexpr std::string_view kReplaceForeign = R"(
local function replace_foreign(key, kind)
  local held = redis.call('TYPE', key).ok
  if held ~= kind and held ~= 'none' then redis.call('DEL', key) end
end
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
replace_foreign(KEYS[1], 'zset')
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
replace_foreign(KEYS[1], 'hash')
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
replace_foreign(KEYS[1], 'hash')
local value = redis.call('HGET', KEYS[1], 'value') or ARGV[1]
redis.call('HSET', KEYS[1], 'value', value)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return value
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
    static const RedisScript script = script_of(kReplaceForeign, kHeartbeat);
    return script;
}

const RedisScript& marker_script() {
    static const RedisScript script = script_of(kReplaceForeign, kMarker);
    return script;
}

const RedisScript& note_script() {
    static const RedisScript script = script_of(kReplaceForeign, kNote);
    return script;
}

std::array<const RedisScript*, 5> all_scripts() {
    return {&sync_script(), &spend_script(), &heartbeat_script(), &marker_script(), &note_script()};
}

}  // namespace sluice
