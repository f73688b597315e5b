#include "regional/redis/raise_script.h"

#include <array>

#include <openssl/sha.h>

#include "regional/redis/redis_command.h"

namespace sluice {
namespace {

// One hash per cell: a field per owner, and their total. The key has its time to live from the
// script that first writes it, and never a shorter one afterwards. An owner that is new to it
// always looks whether that is long enough; one that is not, where it is asked to: it takes Redis a
// sixth of the script.
//
// Lua's numbers are doubles, exact up to the largest count, where the total stays. Redis writes
// them with 17 digits when they are given to a command; Lua itself would make texts like 9.007e+15
// of large ones. A component of 0 writes nothing and so creates nothing. The answer is the total,
// and the component where that is not the one that was given: a list costs more than the rest of
// it.
constexpr std::string_view kScript = R"(
local held = redis.call('HMGET', KEYS[1], 'total', ARGV[1])
local total = tonumber(held[1] or 0)
local before = tonumber(held[2] or 0)
local own = tonumber(ARGV[2])
if own > before then
  total = total + (own - before)
  if total > 9007199254740991 then total = 9007199254740991 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], 'total', total)
end
if ARGV[4] or not held[2] then
  local left = redis.call('PTTL', KEYS[1])
  if left ~= -2 and left < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
end
if before > own then return {total, before} end
return total
)";

// Any fourth argument: look at the time to live.
constexpr std::string_view kLook = "1";

// Redis names a script by its SHA-1, in hexadecimal.
std::string digest_of(std::string_view text) {
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

}  // namespace

std::string raise_command(const Raise& raise) {
    static const std::string name = digest_of(kScript);
    const auto& [key, owner, own, lifetime, has_lifetime] = raise;
    if (has_lifetime) return redis_command({"EVALSHA", name, "1", key, owner, own, lifetime});
    return redis_command({"EVALSHA", name, "1", key, owner, own, lifetime, kLook});
}

std::string raise_in_full_command(const Raise& raise) {
    const auto& [key, owner, own, lifetime, _] = raise;
    return redis_command({"EVAL", kScript, "1", key, owner, own, lifetime, kLook});
}

std::string load_raise_command() {
    return redis_command({"SCRIPT", "LOAD", kScript});
}

}  // namespace sluice
