// The spend script in a real Redis decides every call as decide_at_origin() does.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/origin.h"
#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

// What Redis holds before a call, and the call.
struct Case {
    std::array<CellTotals, 2> held;
    KeySpend spend;
};

// The totals after this node's components were lifted, which decide_at_origin() starts from.
KeyTotals lifted(const Case& given) {
    KeyTotals totals = given.held;
    for (std::size_t cell = 0; cell < totals.size(); ++cell) {
        const KeyComponents& called = given.spend.components;
        CellTotals& held = totals[cell];
        const Count lifted = std::max(called.own[cell], held.own);
        held.total = saturating_add(held.total, lifted - held.own);
        held.own = lifted;
        const Count known = saturating_add(called.own[cell], called.peers[cell]);
        if (known > held.total) held.known = known;
    }
    return totals;
}

std::string shown(const Case& given) {
    std::ostringstream text;
    const KeySpend& spend = given.spend;
    text << "duration " << spend.components.current.duration.count() << " ms\n";
    for (std::size_t cell = 0; cell < 2; ++cell)
        text << (cell == 0 ? "current" : "previous") << ": held " << given.held[cell].total << " / "
             << given.held[cell].own << ", own " << spend.components.own[cell] << ", peers "
             << spend.components.peers[cell] << ", extra " << spend.extra[cell] << "\n";
    for (const auto& [elapsed, ask] : spend.requests)
        text << "request: elapsed " << elapsed.count() << ", cost " << ask.cost << ", limit "
             << ask.limit << "\n";
    return text.str();
}

// Draws cases in which numbers are of any magnitude, often at a power of two, and limits are often
// within one of what would pass.
class CaseGenerator {
  public:
    explicit CaseGenerator(std::uint64_t seed) : random_(seed) {}

    Case next() {
        Case given;
        const Duration duration(below(4) == 0 ? kDurations[below(kDurations.size())]
                                              : 1'000 + sized(kMaxDuration.count() - 1'000));
        given.spend.components = components_of(cell_of("alice"), count(), count());
        given.spend.components.current.duration = duration;
        given.spend.components.lifetime = Duration(2 * duration.count());
        for (std::size_t cell = 0; cell < 2; ++cell) {
            given.held[cell] = {.total = count(), .own = below(2) == 0 ? 0 : count()};
            given.spend.components.peers[cell] = below(2) == 0 ? 0 : count();
            given.spend.extra[cell] = below(2) == 0 ? 0 : count();
        }
        for (std::uint64_t i = below(12); i > 0; --i)
            add_request(given);
        return given;
    }

  private:
    static constexpr std::array<std::int64_t, 4> kDurations = {
        1'000, 60'000, 31'622'399'999, kMaxDuration.count()};

    std::uint64_t below(std::uint64_t end) { return random_() % end; }

    // A number up to `most`, of any number of bits.
    std::int64_t sized(std::int64_t most) {
        const std::int64_t number = static_cast<std::int64_t>(random_() >> (11 + below(53)));
        return std::min(number, most);
    }

    Count count() {
        switch (below(6)) {
            case 0:
                return 0;
            case 1:
                return std::min((Count{1} << below(54)) - below(2), kMaxCount);
            case 2:
                return kMaxCount - below(3);
            case 3:
                return below(100);
            default:
                return static_cast<Count>(sized(static_cast<std::int64_t>(kMaxCount)));
        }
    }

    void add_request(Case& given) {
        const Duration duration = given.spend.components.current.duration;
        const std::int64_t last = duration.count() - 1;
        const std::array<std::int64_t, 4> elapsed = {0, last, sized(last), last - sized(last)};
        SpendRequest request{.elapsed = Duration(elapsed[below(4)]),
                             .ask = {.cost = below(2) == 0 ? below(3) : count(), .limit = count()}};
        given.spend.requests.push_back(request);
        if (below(3) == 0) return;
        SpendRequest& added = given.spend.requests.back();
        added.ask.limit = least_limit(given);
        const std::uint64_t step = below(3);
        if (step == 1 && added.ask.limit < kMaxCount) ++added.ask.limit;
        if (step == 2 && added.ask.limit > 0) --added.ask.limit;
    }

    // The least limit at which the last request passes, found by bisection.
    static Count least_limit(Case given) {
        Count& limit = given.spend.requests.back().ask.limit;
        Count low = 0;
        Count high = kMaxCount;
        while (low < high) {
            limit = low + (high - low) / 2;
            if (decide_at_origin(given.spend, lifted(given)).granted.back()) {
                high = limit;
            } else {
                low = limit + 1;
            }
        }
        return high;
    }

    std::mt19937_64 random_;
};

class SpendScript : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(client.becomes_available()); }

    void hold(const Case& given) {
        const auto keys = cell_keys(kRegion, given.spend.components.current);
        for (std::size_t cell = 0; cell < 2; ++cell) {
            server.command({"DEL", keys[cell]});
            server.command({"HSET",
                            keys[cell],
                            "total",
                            std::to_string(given.held[cell].total),
                            client.origin().node(),
                            std::to_string(given.held[cell].own)});
        }
    }

    std::string stored(const std::string& key, const std::string& field) {
        return server.command({"HGET", key, field}).text;
    }

    void check(const Case& given) {
        hold(given);
        const KeyGrants expected = decide_at_origin(given.spend, lifted(given));
        // The second call repeats the first one, as if its answer was lost.
        for (int call = 0; call < 2; ++call) {
            const auto grants = client.spend({given.spend}).front();
            ASSERT_TRUE(grants.has_value()) << shown(given);
            EXPECT_EQ(grants->granted, expected.granted) << "call " << call << "\n" << shown(given);
            for (std::size_t cell = 0; cell < 2; ++cell) {
                EXPECT_EQ(grants->totals[cell].total, expected.totals[cell].total) << shown(given);
                EXPECT_EQ(grants->totals[cell].own, expected.totals[cell].own) << shown(given);
                EXPECT_EQ(grants->totals[cell].spent(), expected.totals[cell].spent())
                    << shown(given);
            }
        }
        const auto keys = cell_keys(kRegion, given.spend.components.current);
        for (std::size_t cell = 0; cell < 2; ++cell) {
            const CellTotals& totals = expected.totals[cell];
            EXPECT_EQ(stored(keys[cell], "total"), std::to_string(totals.spent())) << shown(given);
            EXPECT_EQ(stored(keys[cell], client.origin().node()), std::to_string(totals.own))
                << shown(given);
        }
    }

    RedisServer server;
    OriginClient client{server.url()};
};

TEST_F(SpendScript, DecidesAsDecideAtOriginDoes) {
    constexpr std::uint64_t kCases = 2'000;
    for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        check(CaseGenerator(seed).next());
    }
    EXPECT_TRUE(client.refusals.empty());
}

// The product of count and weight has up to 88 bits here.
TEST_F(SpendScript, IsExactWhereTheProductIsLargest) {
    Case given;
    given.spend.components = components_of(cell_of("alice"), 0);
    given.spend.components.current.duration = kMaxDuration;
    given.held[1].total = kMaxCount;
    for (const std::int64_t elapsed : {std::int64_t{0},
                                       std::int64_t{1},
                                       std::int64_t{4'095},
                                       std::int64_t{16'777'216},
                                       kMaxDuration.count() / 3,
                                       kMaxDuration.count() - 1}) {
        const Count spent = weighted(kMaxCount, Duration(elapsed), kMaxDuration);
        for (const Count limit : {spent - 1, spent, std::min(spent + 1, kMaxCount)})
            given.spend.requests.push_back({Duration(elapsed), {.cost = 0, .limit = limit}});
    }
    check(given);
    const auto granted = client.spend({given.spend}).front()->granted;
    for (std::size_t i = 0; i < granted.size(); ++i)
        EXPECT_EQ(granted[i], i % 3 != 0) << i;
}

TEST_F(SpendScript, DeniesEvenAPeekAtALimitOfZero) {
    Case given;
    given.spend.components = components_of(cell_of("alice"), 0);
    given.spend.requests = {{Duration(0), {.cost = 0, .limit = 0}},
                            {Duration(0), {.cost = 0, .limit = 1}}};
    check(given);
    EXPECT_EQ(client.spend({given.spend}).front()->granted, (std::vector<bool>{false, true}));
}

// What Redis lost, this node still knows.
TEST_F(SpendScript, CountsPeersThatRedisHasLost) {
    Case given;
    given.spend.components = components_of(cell_of("alice"), 2);
    given.spend.components.peers = {6, 0};
    given.spend.extra = {1, 0};
    given.spend.requests = {{Duration(0), {.cost = 1, .limit = 10}},
                            {Duration(0), {.cost = 1, .limit = 10}}};
    check(given);
    EXPECT_EQ(client.spend({given.spend}).front()->granted, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace sluice::redis_test
