#include "global/hot_table.h"

#include <chrono>
#include <stdexcept>

#include "base/clock.h"
#include "decide/single.h"

namespace sluice::bench {
namespace {

constexpr std::chrono::hours kWindow{1};

}  // namespace

HotTable::HotTable(std::size_t max_keys)
    : table_(*Table::create({.max_keys = max_keys, .sharing = Sharing::kSole, .seed = 1})),
      global_sync_(*table_,
                   {.region = "bench", .clock = std::chrono::steady_clock::now},
                   std::chrono::steady_clock::now()) {}

std::string HotTable::identifier(std::uint32_t key) {
    std::string digits = std::to_string(key);
    return "user_" + std::string(7 - digits.size(), '0') + digits;
}

void HotTable::spend(std::uint32_t first, std::uint32_t count, Use use) {
    const UnixTime now = exact_wall_time();
    for (std::uint32_t key = first; key < first + count; ++key) {
        const std::string name = identifier(key);
        Decision decision{};
        sluice::decide<false>(*table_,
                              {.name_space = "api",
                               .identifier = name,
                               .limit = use == Use::kHot ? 100 : 1'000'000,
                               .duration = kWindow,
                               .cost = use == Use::kHot && key % 2 == 0 ? 51 : 1},
                              CallersTime{now},
                              decision);
    }
}

void HotTable::decide(std::uint32_t key) {
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (std::uint32_t i = 0; i < 1'024; ++i)
            names.push_back(identifier(9'000'000 + i));
        return names;
    }();
    Decision decision{};
    sluice::decide<false>(*table_,
                          {.name_space = "api",
                           .identifier = kNames[key % kNames.size()],
                           .limit = 9'000'000'000'000,
                           .duration = kWindow,
                           .cost = 1},
                          SystemTime{},
                          decision);
}

std::size_t HotTable::tick(GlobalStore& store) {
    Publisher& publisher = global_sync_.publisher();
    publisher.tick_now(std::chrono::steady_clock::now());
    const Publisher::Counts before = publisher.counts();
    for (;;) {
        const UnixTime now = exact_wall_time();
        const auto call = publisher.next(std::chrono::steady_clock::now(), now);
        if (!call) return publisher.counts().rows - before.rows;
        global_sync_.make_call(*call, store, now);
        if (publisher.counts().failures != before.failures)
            throw std::runtime_error("a call to the store failed");
    }
}

}  // namespace sluice::bench
