// Whole nodes over an origin that loses, repeats, delays and reorders calls, becomes unavailable,
// and forgets all it held: in the end it holds exactly what was admitted, and every node has read
// it.
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "counter/table.h"
#include "decide/single.h"
#include "regional/memory_origin.h"
#include "regional/region.h"

namespace sluice {

// For messages.
static void PrintTo(const CellName& cell, std::ostream* out) {
    *out << cell.identifier << "@" << cell.sequence;
}

namespace {

constexpr Duration kDuration{60'000};
constexpr UnixTime kStart = start_of(1'000, kDuration);
constexpr std::size_t kFewKeys = 5;

// Requests borrow these.
const std::vector<std::string> kIdentifiers = {
    "a", "b", "a-b", "an identifier that is not short", "e", "f", "g", "h"};

using Counts = std::map<CellName, Count>;

CellName cell_of(const std::string& identifier, UnixTime now) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = identifier,
            .duration = kDuration,
            .sequence = instant_at(now, kDuration).sequence};
}

// What carries calls to the origin and answers back, in any order, or not.
class Network {
  public:
    using Act = std::function<void(bool arrives)>;

    void carry(Act act) { underway_.push_back(std::move(act)); }
    bool is_empty() const { return underway_.empty(); }
    // One of those underway arrives, or is lost.
    void move_one(std::mt19937_64& random, bool arrives) {
        const auto chosen =
            underway_.begin() + static_cast<std::ptrdiff_t>(random() % underway_.size());
        const Act act = std::move(*chosen);
        underway_.erase(chosen);
        act(arrives);
    }

  private:
    std::deque<Act> underway_;
};

// An origin behind the network. The first answered copy of a call ends the call
// for its sender; later ones are duplicates.
class FarOrigin : public Origin {
  public:
    FarOrigin(MemoryRegion& region, Network& network, std::mt19937_64& random)
        : origin_(region.join()), network_(network), random_(random) {}

    void start(OriginEvents origin_events) override { events = std::move(origin_events); }
    void sync(std::vector<KeyComponents> keys, Synced synced) override {
        const std::vector<KeyAnswer> nothing(keys.size());
        send(nothing, std::move(synced), [this, keys = std::move(keys)](Synced back) {
            origin_->sync(keys, std::move(back));
        });
    }
    void spend(std::vector<KeySpend> keys, Spent spent) override {
        const std::vector<SpendAnswer> nothing(keys.size());
        send(nothing, std::move(spent), [this, keys = std::move(keys)](Spent back) {
            origin_->spend(keys, std::move(back));
        });
    }
    void heartbeat(HeartbeatDone done) override {
        const HeartbeatAnswer nothing;
        send(nothing, std::move(done), [this](HeartbeatDone back) {
            origin_->heartbeat(std::move(back));
        });
    }
    void list(std::vector<CellName> cells, Listed listed) override {
        origin_->list(std::move(cells), std::move(listed));
    }
    std::string node() const override { return origin_->node(); }

    OriginEvents events;
    bool is_cut = false;

  private:
    template <class Answer, class Answered, class Ask>
    void send(Answer nothing, Answered answered, Ask ask) {
        const auto waiting = std::make_shared<Answered>(std::move(answered));
        const auto end = [waiting](Answer answer) {
            if (const Answered callback = std::exchange(*waiting, {})) callback(std::move(answer));
        };
        const std::size_t copies = random_() % 6 == 0 ? 2 : 1;
        for (std::size_t i = 0; i < copies; ++i) {
            network_.carry([this, nothing, end, ask](bool arrives) {
                if (!arrives || is_cut) return end(nothing);
                ask([this, nothing, end](Answer answer) {
                    network_.carry([nothing, end, answer = std::move(answer)](bool comes_back) {
                        end(comes_back ? answer : nothing);
                    });
                });
            });
        }
    }

    std::unique_ptr<Origin> origin_;
    Network& network_;
    std::mt19937_64& random_;
};

class Node {
  public:
    Node(MemoryRegion& region,
         Network& network,
         std::mt19937_64& random,
         const Region::Time& now,
         std::size_t max_keys)
        : table_(*Table::create({.max_keys = max_keys, .sharing = Sharing::kShared, .seed = 1})),
          origin_(region, network, random),
          region_(*table_,
                  origin_,
                  {.clock = [&now] { return now; },
                   .seed = random(),
                   .again = [this] { wants_turn_ = true; },
                   .changed = [](bool, const std::string&) {}}) {
        region_.start();
        origin_.events.available(true);
    }

    Request request(const std::string& identifier, std::int64_t cost) const {
        return {.workspace = "w",
                .name_space = "n",
                .identifier = identifier,
                .limit = 100'000,
                .duration = kDuration,
                .cost = cost};
    }

    // Decides from local counts.
    bool spend(const std::string& identifier, std::int64_t cost, UnixTime now) {
        Decision decision{};
        decide_from_local(*table_, request(identifier, cost), now, decision);
        return decision.passed;
    }
    // Has the origin decide; if it does not answer, decides from local counts.
    void ask(const std::string& identifier,
             std::int64_t cost,
             UnixTime now,
             std::function<void(UnixTime)> passed) {
        const Request one = request(identifier, cost);
        region_.spend(one, now, [this, one, now, passed](std::optional<OriginVerdict> verdict) {
            Decision decision{};
            if (verdict && verdict->granted) {
                const EpochPin pin;
                const HashedRequest hashed = table_->key(one).hashed_request();
                enter_grant(*table_, hashed, now, verdict->grant, decision);
            } else {
                decide_from_local(*table_, one, now, decision);
            }
            // A request from too far back is decided in a later window than it came in.
            if (decision.passed) passed(decision.reset_at - kDuration);
        });
    }
    void refresh(const std::string& identifier, UnixTime now) {
        const Request one = request(identifier, 1);
        region_.sync({&one, 1}, now, [](bool) {});
    }
    // The spend in its local counts, its own and that of its peers.
    Count knows(const std::string& identifier, UnixTime now) {
        const EpochPin pin;
        Instant at{};
        const Request peek = request(identifier, 1);
        return table_->entry_for(table_->key(peek), now, at).spent(at.sequence);
    }

    void turn(const Region::Time& now) {
        const bool is_due = region_.wake_at() && *region_.wake_at() <= now;
        if (std::exchange(wants_turn_, false) || is_due) region_.step();
    }
    Region& region() { return region_; }
    FarOrigin& origin() { return origin_; }
    bool wants_turn() const { return wants_turn_; }

  private:
    std::unique_ptr<Table> table_;
    FarOrigin origin_;
    bool wants_turn_ = false;
    Region region_;
};

class World {
  public:
    explicit World(std::uint64_t seed) : random_(seed) {
        // In a small table keys displace each other and come back. What they had spent is then held
        // by the origin alone, which must not forget it.
        can_forget_ = below(2) == 0;
        const std::size_t max_keys = can_forget_ ? 1'000 : kFewKeys;
        for (std::size_t i = 0; i < 1 + below(4); ++i)
            nodes_.emplace_back(*region_, network_, random_, now_, max_keys);
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i)
            step();
        run_until_idle();
    }

    Counts living() const {
        Counts counts = admitted_;
        std::erase_if(counts, [this](const auto& cell) {
            return cell.second == 0 || is_dead(cell.first.sequence, kDuration, time_);
        });
        return counts;
    }
    Counts held() {
        Counts counts;
        const std::unique_ptr<Origin> witness = region_->join();
        for (const auto& [cell, count] : living())
            witness->sync({{.current = cell, .lifetime = Duration{1}}},
                          [&, name = cell](const auto& answers) {
                              counts[name] = (*answers.front())[0].total;
                          });
        return counts;
    }

    // After a refresh of every key at every node: what each takes to be spent in the current
    // window.
    std::vector<Counts> known() {
        std::vector<Counts> known;
        for (Node& node : nodes_) {
            Counts& counts = known.emplace_back();
            for (const auto& [cell, count] : living()) {
                if (cell.sequence != instant_at(time_, kDuration).sequence) continue;
                node.refresh(cell.identifier, time_);
                calm();
                counts[cell] = node.knows(cell.identifier, time_);
            }
        }
        return known;
    }
    Counts living_now() const {
        Counts counts = living();
        std::erase_if(counts, [this](const auto& cell) {
            return cell.first.sequence != instant_at(time_, kDuration).sequence;
        });
        return counts;
    }

  private:
    std::size_t below(std::size_t bound) { return random_() % bound; }

    void step() {
        Node& node = nodes_[below(nodes_.size())];
        const std::string& identifier = kIdentifiers[below(kIdentifiers.size())];
        switch (below(16)) {
            case 0:
            case 1:
                return spend(node, identifier);
            case 2:
            case 3:
                return ask(node, identifier);
            case 4:
                return node.refresh(identifier, time_);
            case 5:
            case 6:
            case 7:
            case 8:
                return node.turn(now_);
            case 9:
            case 10:
            case 11:
                if (!network_.is_empty()) network_.move_one(random_, below(4) != 0);
                return;
            case 12:
                return pass(
                    Duration{static_cast<std::int64_t>(below(below(8) == 0 ? 20'000 : 400))});
            case 13:
                return disturb(node);
            default:
                return pass(Duration{static_cast<std::int64_t>(below(20))});
        }
    }

    void spend(Node& node, const std::string& identifier) {
        const auto cost = static_cast<std::int64_t>(below(4));
        if (node.spend(identifier, cost, time_))
            admitted_[cell_of(identifier, time_)] += static_cast<Count>(cost);
    }

    // A grant whose answer is lost stays with the entry that it was asked for. Where keys displace
    // each other, the entry may be gone by then.
    void ask(Node& node, const std::string& identifier) {
        if (!can_forget_) return spend(node, identifier);
        const auto cost = static_cast<std::int64_t>(below(4));
        node.ask(identifier, cost, time_, [this, identifier, cost](UnixTime began) {
            admitted_[cell_of(identifier, began)] += static_cast<Count>(cost);
        });
    }

    void pass(Duration time) {
        now_ += time;
        time_ += time;
    }

    void disturb(Node& node) {
        FarOrigin& origin = node.origin();
        switch (below(8)) {
            case 0:
                if (!can_forget_) return;
                region_->forget();
                for (Node& each : nodes_)
                    if (!each.origin().is_cut) each.origin().events.data_lost();
                forgot_while_cut_ = true;
                return;
            case 1:
            case 2:
                origin.is_cut = true;
                return origin.events.unavailable("cut off");
            default:
                if (!std::exchange(origin.is_cut, false)) return;
                return origin.events.available(!forgot_while_cut_);
        }
    }

    // The network works again, and messages underway arrive.
    void run_until_idle() {
        for (Node& node : nodes_)
            if (std::exchange(node.origin().is_cut, false))
                node.origin().events.available(!forgot_while_cut_);
        calm();
    }
    void calm() {
        for (int i = 0; i < 100'000; ++i) {
            bool is_quiet = network_.is_empty();
            if (!is_quiet) network_.move_one(random_, true);
            for (Node& node : nodes_) {
                node.turn(now_);
                is_quiet &= !node.wants_turn() && node.region().is_settled() &&
                            !node.region().is_unavailable();
            }
            if (is_quiet && network_.is_empty()) return;
            // Retries wait by the clock of the machine, not by that of the requests.
            if (network_.is_empty()) now_ += Duration{10};  // heartbeats come every 250 ms
        }
        FAIL() << "it never settles";
    }

    std::mt19937_64 random_;
    Region::Time now_{std::chrono::hours{1}};
    UnixTime time_ = kStart;
    std::shared_ptr<MemoryRegion> region_ =
        MemoryRegion::create([] { return std::chrono::steady_clock::time_point{}; });
    Network network_;
    std::deque<Node> nodes_;
    Counts admitted_;
    bool can_forget_ = false;
    bool forgot_while_cut_ = false;
};

TEST(RegionNetwork, EndsWithExactlyWhatWasAdmitted) {
    constexpr std::uint64_t kSeeds = 5'000;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        World world(seed);
        world.run(500);
        ASSERT_EQ(world.held(), world.living()) << "seed " << seed;
        for (const Counts& known : world.known())
            ASSERT_EQ(known, world.living_now()) << "seed " << seed;
        ASSERT_EQ(world.held(), world.living()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sluice
