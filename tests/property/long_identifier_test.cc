// Keys whose names are too long for the global store, beside keys that fit, in the same history:
// all decisions and all published counts must be the same.
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "decide/single.h"
#include "global/bus.h"
#include "global/global_fixture.h"
#include "global/stored_name.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kLimit = 10;

// A key that fits the store, and keys that differ from it only in that one part does not.
struct Name {
    std::string workspace = "w";
    std::string name_space = "n";
    std::string identifier = "i";
};

std::vector<Name> names() {
    return {Name{},
            Name{.identifier = std::string(300, 'i')},
            Name{.identifier = std::string(256, 'i')},
            Name{.name_space = std::string(300, 'n')},
            Name{.workspace = std::string(200, 'w')},
            Name{.workspace = std::string(300, 'w'), .identifier = std::string(2'000, 'j')}};
}

// Regions of one node each. Every key gets the same requests.
class TwinHistory {
  public:
    TwinHistory(std::uint64_t seed, std::size_t regions) : random_(seed) {
        for (std::size_t i = 0; i < regions; ++i)
            nodes_.push_back(make(i));
    }

    std::size_t regions() const { return nodes_.size(); }
    void publish(std::size_t region) { nodes_[region]->publish(); }
    void import(std::size_t region) { nodes_[region]->import(); }
    // As if region `from` had announced everything that it has published.
    void announce(std::size_t from, std::size_t to) {
        BusMessage message{.region = name_of(from), .counts = {}};
        for (const auto& [cell, components] : world_->held()) {
            const auto own = components.find(message.region);
            if (own != components.end())
                message.counts.push_back({.cell = cell, .count = own->second.count});
        }
        GlobalSync& receiver = nodes_[to]->global_sync;
        static_cast<void>(from == to ? receiver.receive_own(message)
                                     : receiver.receive(message, clock_.wall));
    }
    void restart(std::size_t region) { nodes_[region] = make(region); }
    void pass(milliseconds time) { clock_.advance(time); }

    // The decision on each key, which must be the same. An empty decision: the keys differ.
    std::optional<Decision> ask(std::size_t region, std::int64_t cost) {
        std::optional<Decision> first;
        for (const Name& name : names_) {
            const Request request{.workspace = name.workspace,
                                  .name_space = name.name_space,
                                  .identifier = name.identifier,
                                  .limit = kLimit,
                                  .duration = seconds{600},
                                  .cost = cost};
            Decision decision{};
            decide_from_local(nodes_[region]->table(), request, clock_.wall, decision);
            if (!first) first = decision;
            if (decision.passed != first->passed || decision.remaining != first->remaining ||
                decision.retry_at != first->retry_at)
                return std::nullopt;
        }
        return first;
    }

    // Whether the store holds the same of all keys.
    bool has_equal_rows() const {
        std::vector<std::vector<std::vector<Count>>> counts;  // by key, cell, region
        const MemoryWorld::Cells held = world_->held();
        for (const Name& name : names_) {
            auto& cells = counts.emplace_back();
            for (const auto& [cell, components] : held) {
                if (cell != stored_name({.workspace = name.workspace,
                                         .name_space = name.name_space,
                                         .identifier = name.identifier,
                                         .duration = cell.duration,
                                         .sequence = cell.sequence}))
                    continue;
                auto& row = cells.emplace_back();
                for (const auto& [region, component] : components)
                    row.push_back(component.count);
            }
            if (cells != counts.front()) return false;
        }
        return true;
    }

    std::size_t below(std::size_t bound) { return random_() % bound; }

  private:
    std::unique_ptr<GlobalNode> make(std::size_t region) {
        return std::make_unique<GlobalNode>(clock_, world_, name_of(region));
    }
    static std::string name_of(std::size_t region) { return {static_cast<char>('a' + region)}; }

    const std::vector<Name> names_ = names();
    std::mt19937_64 random_;
    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    std::vector<std::unique_ptr<GlobalNode>> nodes_;
};

TEST(LongIdentifier, AHeldKeyImportsTheCountsOfAnotherRegion) {
    TwinHistory history(1, 2);
    EXPECT_EQ(history.ask(1, 0)->remaining, 10);
    ASSERT_TRUE(history.ask(0, 6)->passed);
    history.publish(0);
    history.import(1);
    const std::optional<Decision> known = history.ask(1, 0);
    ASSERT_TRUE(known);
    EXPECT_EQ(known->remaining, 4);
}

TEST(LongIdentifier, ANewKeyHasTheImportedCountsAtItsFirstRequest) {
    TwinHistory history(1, 2);
    ASSERT_TRUE(history.ask(0, 6)->passed);
    history.publish(0);
    history.import(1);
    const std::optional<Decision> denied = history.ask(1, 5);
    ASSERT_TRUE(denied);
    EXPECT_FALSE(denied->passed);
}

TEST(LongIdentifier, AnAnnouncementCountsBeforeAndAfterTheFirstRequest) {
    for (const bool is_held : {false, true}) {
        TwinHistory history(1, 2);
        if (is_held) {
            ASSERT_EQ(history.ask(1, 0)->remaining, 10);
        }
        ASSERT_TRUE(history.ask(0, 6)->passed);
        history.publish(0);
        history.announce(0, 1);
        const std::optional<Decision> known = history.ask(1, 0);
        ASSERT_TRUE(known) << is_held;
        EXPECT_EQ(known->remaining, 4) << is_held;
    }
}

TEST(LongIdentifier, ARestartedRegionReadsItsOwnRow) {
    TwinHistory history(1, 1);
    ASSERT_TRUE(history.ask(0, 6)->passed);
    history.publish(0);
    history.restart(0);
    ASSERT_EQ(history.ask(0, 0)->remaining, 10);
    history.import(0);
    const std::optional<Decision> known = history.ask(0, 0);
    ASSERT_TRUE(known);
    EXPECT_EQ(known->remaining, 4);
}

TEST(LongIdentifier, EveryDecisionAndEveryRowMatchesThatOfAShortKey) {
    constexpr std::uint64_t kSeeds = 40;
    std::size_t denials = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        TwinHistory history(seed, 2 + seed % 2);
        for (int step = 0; step < 150; ++step) {
            const std::size_t region = history.below(history.regions());
            const std::size_t what = history.below(20);
            if (what < 10) {
                const auto decision = history.ask(region, static_cast<std::int64_t>(what % 4));
                ASSERT_TRUE(decision) << "seed " << seed << ", step " << step;
                if (!decision->passed) ++denials;
            } else if (what < 14) {
                history.publish(region);
                ASSERT_TRUE(history.has_equal_rows()) << "seed " << seed << ", step " << step;
            } else if (what < 16) {
                history.import(region);
            } else if (what < 18) {
                history.announce(history.below(history.regions()), region);
            } else if (what == 18) {
                history.pass(milliseconds{history.below(300'000)});
            } else if (history.below(4) == 0) {
                history.restart(region);
            }
        }
    }
    EXPECT_GT(denials, 10 * kSeeds);
}

}  // namespace
}  // namespace sluice
