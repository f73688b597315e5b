#include "measure/keys.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace sluice::bench {
namespace {

constexpr std::string_view kPrefix = "user_";
constexpr std::size_t kDigits = Key::kIdentifierSize - kPrefix.size();
constexpr std::size_t kLeastEntries = 8'192;

char* append(char* to, std::string_view text) {
    return std::copy(text.begin(), text.end(), to);
}

}  // namespace

Key::Key(std::uint32_t number) : bytes_{} {
    char* at = append(append(append(bytes_.data(), kWorkspace), kNamespace), kPrefix);
    for (std::size_t i = kDigits; i-- > 0; number /= 10) {
        at[i] = static_cast<char>('0' + number % 10);
    }
    at += kDigits;
    const std::int64_t duration = kDuration.count();
    std::memcpy(at, &duration, sizeof duration);
    at += sizeof duration;
    size_ = static_cast<std::uint8_t>(at - bytes_.data());
}

std::vector<Key> random_order(Share share) {
    const std::uint32_t begin = share.count / share.of * share.index;
    const std::uint32_t size = std::max(1U, share.count / share.of);
    std::mt19937 random(share.count + share.index);
    std::vector<Key> order;
    order.reserve(size + kLeastEntries);
    do {
        const auto round = static_cast<std::ptrdiff_t>(order.size());
        for (std::uint32_t i = 0; i < size; ++i) {
            order.emplace_back(begin + i);
        }
        std::shuffle(order.begin() + round, order.end(), random);
    } while (order.size() < kLeastEntries);
    return order;
}

std::vector<Key> in_turn(std::uint32_t count) {
    std::vector<Key> keys;
    keys.reserve(count);
    for (std::uint32_t number = 0; number < count; ++number) {
        keys.emplace_back(number);
    }
    return keys;
}

}  // namespace sluice::bench
