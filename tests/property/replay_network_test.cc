// Nodes that replay to one origin over a network that loses, repeats, delays and reorders: in the
// end the origin holds exactly what was admitted.
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "counter/table.h"
#include "decide/single.h"
#include "regional/memory_origin.h"
#include "regional/replay.h"

namespace sluice {
namespace {

constexpr Duration kDuration{60'000};
constexpr UnixTime kStart = start_of(1'000, kDuration);

// Each name in the tests' keys; requests borrow them.
const std::vector<std::string> kIdentifiers = {"a", "b", "a-b", "an identifier that is not short"};

using Counts = std::map<CellName, Count>;

class Node {
  public:
    explicit Node(MemoryRegion& region) : origin_(region.join()) {}

    // Decides by what this node knows, and notes what was admitted.
    void spend(const std::string& identifier, std::int64_t cost, UnixTime now, Counts& admitted) {
        const Request request{.workspace = "w",
                              .name_space = "n",
                              .identifier = identifier,
                              .limit = 100'000,
                              .duration = kDuration,
                              .cost = cost};
        Decision decision{};
        decide_by_what_is_held(*table_, request, now, decision);
        if (!decision.passed) return;
        admitted[{.workspace = "w",
                  .name_space = "n",
                  .identifier = identifier,
                  .duration = kDuration,
                  .sequence = instant_at(now, kDuration).sequence}] += static_cast<Count>(cost);
    }

    Replay& replay() { return replay_; }
    Origin& origin() { return *origin_; }

  private:
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 1'000, .sharing = Sharing::kShared, .seed = 1});
    Replay replay_{*table_};
    std::unique_ptr<Origin> origin_;
};

// A call on its way. The batch's sender waits for the answer to the copy that was sent first; all
// other copies are echoes of it, and nobody hears what is answered to them.
struct Call {
    Node* sender;
    std::vector<CellComponent> batch;
    bool is_awaited;
};

class World {
  public:
    explicit World(std::uint64_t seed) : random_(seed) {
        for (std::size_t i = 0; i < 1 + below(4); ++i)
            nodes_.emplace_back(*region_);
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i)
            step();
        for (Node& node : nodes_)
            settle(node);
    }

    // The cells that matter at the end, as the origin holds them and as they were admitted.
    Counts held() {
        Counts counts;
        for (const auto& [cell, count] : living())
            nodes_.front().origin().read(
                {{.cell = cell, .incarnation = 0}},
                [&, name = cell](const auto& answers) { counts[name] = answers.front()->total; });
        return counts;
    }
    Counts living() const {
        Counts counts = admitted_;
        std::erase_if(counts, [this](const auto& cell) {
            return is_dead(cell.first.sequence, kDuration, now_);
        });
        return counts;
    }

  private:
    std::size_t below(std::size_t bound) { return random_() % bound; }

    void step() {
        Node& node = nodes_[below(nodes_.size())];
        switch (below(8)) {
            case 0:
            case 1:
            case 2:
                return node.spend(kIdentifiers[below(kIdentifiers.size())],
                                  static_cast<std::int64_t>(below(4)),
                                  now_,
                                  admitted_);
            case 3:
            case 4:
                return send(node);
            case 5:
                return deliver();
            case 6:
                return echo();
            default:
                now_ += Duration{static_cast<std::int64_t>(below(below(8) == 0 ? 30'000 : 2'000))};
        }
    }

    void send(Node& node) {
        node.replay().retry();
        const auto aim = below(2) == 0 ? Telling::Aim::kTell : Telling::Aim::kHear;
        std::vector<CellComponent> batch = node.replay().next(now_, now_, aim);
        if (!batch.empty()) network_.push_back({&node, std::move(batch), true});
    }

    // Any call that is on its way arrives, or is lost; so is its answer.
    void deliver() {
        if (network_.empty()) return;
        const std::size_t index = below(network_.size());
        const Call call = network_[index];
        network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(index));
        const bool arrives = below(4) != 0;
        const bool is_answered = arrives && below(4) != 0;
        if (arrives) {
            call.sender->origin().raise(call.batch, [&](const auto& answers) {
                if (call.is_awaited && is_answered) call.sender->replay().answered(answers);
            });
        }
        if (call.is_awaited && !is_answered)
            call.sender->replay().answered(std::vector<CellAnswer>(call.batch.size()));
    }

    void echo() {
        if (network_.empty()) return;
        Call copy = network_[below(network_.size())];
        copy.is_awaited = false;
        network_.push_back(std::move(copy));
    }

    // The network is well again.
    void settle(Node& node) {
        while (!network_.empty())
            deliver();
        node.replay().retry();
        for (auto batch = node.replay().next(now_); !batch.empty();
             batch = node.replay().next(now_)) {
            node.origin().raise(std::move(batch),
                                [&](const auto& answers) { node.replay().answered(answers); });
        }
    }

    std::mt19937_64 random_;
    std::shared_ptr<MemoryRegion> region_ =
        MemoryRegion::create([] { return std::chrono::steady_clock::time_point{}; });
    std::deque<Node> nodes_;
    std::deque<Call> network_;
    Counts admitted_;
    UnixTime now_ = kStart;
};

TEST(ReplayNetwork, LosesNothingAndCountsNothingTwice) {
    constexpr std::uint64_t kSeeds = 3'000;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        World world(seed);
        world.run(300);
        Counts living = world.living();
        std::erase_if(living, [](const auto& cell) { return cell.second == 0; });
        Counts held = world.held();
        std::erase_if(held, [](const auto& cell) { return cell.second == 0; });
        ASSERT_EQ(held, living) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sluice
