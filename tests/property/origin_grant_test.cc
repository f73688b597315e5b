// The rule by which an origin decides: against a naive model, repeated, and over a network that
// loses and repeats calls.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "regional/origin.h"

namespace sluice {
namespace {

__extension__ using Exact = __int128;

Count capped(Exact sum) {
    return static_cast<Count>(std::min(sum, Exact{kMaxCount}));
}

// Small numbers, where requests compete, and the largest ones.
rc::Gen<Count> any_count() {
    return rc::gen::weightedOneOf<Count>(
        {{6, rc::gen::inRange<Count>(0, 30)},
         {1, rc::gen::inRange<Count>(0, kMaxCount)},
         {1, rc::gen::element(kMaxCount - 1, kMaxCount, Count{1} << 29U, (Count{1} << 29U) - 1)}});
}

KeySpend any_spend() {
    const Duration duration{*rc::gen::weightedOneOf<std::int64_t>(
        {{4, rc::gen::just<std::int64_t>(1'000)},
         {1, rc::gen::inRange<std::int64_t>(kMinDuration.count(), kMaxDuration.count() + 1)}})};
    KeySpend spend;
    spend.components.current.duration = duration;
    for (std::size_t cell : {0U, 1U}) {
        spend.components.own.at(cell) = *any_count();
        spend.components.peers.at(cell) =
            *rc::gen::weightedOneOf<Count>({{1, rc::gen::just<Count>(0)}, {1, any_count()}});
        spend.extra.at(cell) =
            *rc::gen::weightedOneOf<Count>({{2, rc::gen::just<Count>(0)}, {1, any_count()}});
    }
    const auto size = *rc::gen::inRange<std::size_t>(0, 8);
    for (std::size_t i = 0; i < size; ++i) {
        spend.requests.push_back(
            {.elapsed = Duration{*rc::gen::inRange<std::int64_t>(0, duration.count())},
             .ask = {.cost = *any_count(),
                     .limit = *rc::gen::weightedOneOf<Count>(
                         {{4, rc::gen::inRange<Count>(0, 100)}, {2, any_count()}})}});
    }
    return spend;
}

// What an origin may hold once the components of `spend` were lifted.
KeyTotals any_held(const KeySpend& spend) {
    KeyTotals held;
    for (std::size_t cell : {0U, 1U}) {
        const Count credit =
            *rc::gen::weightedOneOf<Count>({{1, rc::gen::just<Count>(0)}, {1, any_count()}});
        held.at(cell).own = saturating_add(spend.components.own.at(cell), credit);
        held.at(cell).total = saturating_add(held.at(cell).own, *any_count());
    }
    return held;
}

// The sliding window in whole numbers that nothing was divided out of.
bool fits(Exact current, Exact previous, const SpendRequest& request, Duration duration) {
    const Exact whole = duration.count();
    const Exact weight = (duration - request.elapsed).count();
    return request.ask.limit > 0 && (current + request.ask.cost) * whole + previous * weight <=
                                        Exact{request.ask.limit} * whole;
}

KeyGrants naive_grants(const KeySpend& spend, const KeyTotals& held) {
    std::array<Count, 2> foreign{};
    for (std::size_t cell : {0U, 1U}) {
        const Count peers =
            std::max(held.at(cell).total - held.at(cell).own, spend.components.peers.at(cell));
        foreign.at(cell) = capped(Exact{peers} + spend.extra.at(cell));
    }
    const Count previous = capped(Exact{foreign[1]} + held[1].own);
    KeyGrants grants{.totals = held, .granted = {}};
    Count admitted = spend.components.own[0];
    for (const SpendRequest& request : spend.requests) {
        const Count current = capped(Exact{foreign[0]} + admitted);
        grants.granted.push_back(
            fits(current, previous, request, spend.components.current.duration));
        if (grants.granted.back()) admitted = capped(Exact{admitted} + request.ask.cost);
    }
    const Count growth = std::max(admitted, held[0].own) - held[0].own;
    grants.totals[0].own += growth;
    grants.totals[0].total = capped(Exact{grants.totals[0].total} + growth);
    return grants;
}

void expect_same(const KeyGrants& grants, const KeyGrants& expected) {
    RC_ASSERT(grants.granted == expected.granted);
    for (std::size_t cell : {0U, 1U}) {
        RC_ASSERT(grants.totals.at(cell).own == expected.totals.at(cell).own);
        RC_ASSERT(grants.totals.at(cell).total == expected.totals.at(cell).total);
    }
}

RC_GTEST_PROP(OriginGrant, MatchesTheNaiveModel, ()) {
    const KeySpend spend = any_spend();
    const KeyTotals held = any_held(spend);
    expect_same(decide_at_origin(spend, held), naive_grants(spend, held));
}

RC_GTEST_PROP(OriginGrant, RepeatedGrantsTheSameAndChangesNothing, ()) {
    const KeySpend spend = any_spend();
    const KeyGrants first = decide_at_origin(spend, any_held(spend));
    expect_same(decide_at_origin(spend, first.totals), first);
}

constexpr Duration kWindow{1'000};

// A key that several nodes spend from, whose calls and answers may be lost and whose calls may come
// again later. A lost answer admits nothing.
class LossyRegion {
  public:
    struct Config {
        std::size_t nodes;
        Count limit;
        Count previous;  // spent in the previous cell
    };
    explicit LossyRegion(const Config& config) : config_(config), nodes_(config.nodes) {}

    KeySpend call(std::size_t node, Duration elapsed, const std::vector<Count>& costs) const {
        KeySpend spend;
        spend.components.current.duration = kWindow;
        spend.components.own[0] = nodes_.at(node).admitted;
        spend.components.peers[0] = nodes_.at(node).peers;
        for (const Count cost : costs)
            spend.requests.push_back(
                {.elapsed = elapsed, .ask = {.cost = cost, .limit = config_.limit}});
        return spend;
    }
    KeyGrants deliver(std::size_t node, const KeySpend& spend) {
        Count& component = nodes_.at(node).component;
        component = std::max(component, spend.components.own[0]);
        const KeyTotals held{CellTotals{.total = total(), .own = component},
                             CellTotals{.total = config_.previous, .own = 0}};
        KeyGrants grants = decide_at_origin(spend, held);
        component = grants.totals[0].own;
        return grants;
    }
    void answer(std::size_t node, const KeySpend& spend, const KeyGrants& grants) {
        for (std::size_t i = 0; i < spend.requests.size(); ++i) {
            const SpendRequest& request = spend.requests[i];
            if (!grants.granted[i]) continue;
            RC_ASSERT(fits(admitted(), config_.previous, request, kWindow));
            nodes_.at(node).admitted += request.ask.cost;
        }
        nodes_.at(node).peers = grants.totals[0].total - grants.totals[0].own;
    }

    // The sum of the components.
    Count total() const { return sum(&Node::component); }
    Count admitted() const { return sum(&Node::admitted); }

  private:
    struct Node {
        Count component = 0;  // at the origin
        Count admitted = 0;
        Count peers = 0;
    };
    Count sum(Count Node::*count) const {
        Count all = 0;
        for (const Node& node : nodes_)
            all += node.*count;
        return all;
    }

    const Config config_;
    std::vector<Node> nodes_;
};

enum class Fate : std::uint8_t { kAnswered, kCallLost, kAnswerLost };

RC_GTEST_PROP(OriginGrant, NeverExceedsTheWindowAndLeaksNothingOverALossyNetwork, ()) {
    const LossyRegion::Config config{.nodes = *rc::gen::inRange<std::size_t>(1, 4),
                                     .limit = *rc::gen::inRange<Count>(1, 60),
                                     .previous = *rc::gen::inRange<Count>(0, 40)};
    LossyRegion region(config);
    std::vector<std::pair<std::size_t, KeySpend>> sent;
    Duration elapsed{0};
    const auto calls = *rc::gen::inRange(0, 40);
    for (int i = 0; i < calls; ++i) {
        elapsed += Duration{*rc::gen::inRange(0, 24)};
        const auto node = *rc::gen::inRange<std::size_t>(0, config.nodes);
        const auto costs = *rc::gen::container<std::vector<Count>>(rc::gen::inRange<Count>(0, 8));
        const KeySpend spend = region.call(node, elapsed, costs);
        const Fate fate = *rc::gen::element(Fate::kAnswered, Fate::kCallLost, Fate::kAnswerLost);
        sent.emplace_back(node, spend);
        if (fate != Fate::kCallLost) {
            const KeyGrants grants = region.deliver(node, spend);
            if (fate == Fate::kAnswered) region.answer(node, spend, grants);
        }
        if (*rc::gen::inRange(0, 3) == 0) {  // an earlier call arrives once more, or at last
            const auto& [late_node, late] = sent.at(*rc::gen::inRange<std::size_t>(0, sent.size()));
            region.deliver(late_node, late);
        }
        RC_ASSERT(region.admitted() <= region.total());
        RC_ASSERT(region.total() <= config.limit);
    }
    // A grant whose answer was lost is credit, which its node can still spend.
    for (std::size_t node = 0; node < config.nodes; ++node) {
        for (Count i = 0; i < config.limit; ++i) {
            const KeySpend spend = region.call(node, kWindow - Duration{1}, {1});
            region.answer(node, spend, region.deliver(node, spend));
        }
    }
    const Count still_previous = config.previous > 0 ? 1 : 0;  // a thousandth, rounded up
    RC_ASSERT(region.admitted() == config.limit - still_previous);
}

}  // namespace
}  // namespace sluice
