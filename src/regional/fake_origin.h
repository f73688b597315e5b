// An origin for tests: it keeps calls until the test answers them.
#ifndef SLUICE_REGIONAL_FAKE_ORIGIN_H_
#define SLUICE_REGIONAL_FAKE_ORIGIN_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regional/origin.h"

namespace sluice {

// One node's component beside those of all peers, which a test sets. Thread-compatible.
class FakeOrigin final : public Origin {
    template <class Call>
    static Call take(std::deque<Call>& calls) {
        Call first = std::move(calls.front());
        calls.pop_front();
        return first;
    }

  public:
    struct Cell {
        Count own = 0;
        Count peers = 0;
        Count known = 0;  // to have been spent, if that is more than the total
    };

    void start(OriginEvents given) override { events = std::move(given); }
    void sync(std::vector<KeyComponents> keys, Synced synced) override {
        syncs.push_back({std::move(keys), std::move(synced)});
    }
    void spend(std::vector<KeySpend> keys, Spent spent) override {
        spends.push_back({std::move(keys), std::move(spent)});
    }
    void heartbeat(HeartbeatDone done) override {
        ++beats;
        if (is_silent) {
            silent_beats.push_back(std::move(done));
        } else {
            done(Heartbeat{.nodes = nodes, .has_joined = beats == 1, .clock_offset = offset});
        }
    }
    void list(std::vector<CellName> names, Listed listed) override {
        listed(std::vector<std::optional<CellListing>>(names.size()));
    }
    std::string node() const override { return "fake"; }
    bool is_sharded() const override { return has_servers; }

    // Answer the oldest call. A cluster that has lost a server answers nothing for its keys: those
    // that begin with `lost`.
    void answer_sync(const std::optional<std::string>& lost = std::nullopt) {
        auto [keys, synced] = take(syncs);
        std::vector<KeyAnswer> answers;
        for (const KeyComponents& key : keys) {
            const bool is_lost = lost && key.current.identifier.starts_with(*lost);
            answers.push_back(is_lost ? KeyAnswer() : lift(key));
            if (is_broken(key)) answers.back() = error<KeyAnswer>();
        }
        synced(answers);
    }
    void fail_sync() { answer_sync(""); }
    void answer_spend() {
        auto [keys, spent] = take(spends);
        spent(decide(keys));
    }
    // The call takes effect, and its answer is lost.
    void lose_spend_answer() {
        auto [keys, spent] = take(spends);
        decide(keys);
        spent(std::vector<SpendAnswer>(keys.size()));
    }

    OriginEvents events;
    std::map<CellName, Cell> cells;
    std::deque<std::pair<std::vector<KeyComponents>, Synced>> syncs;
    std::deque<std::pair<std::vector<KeySpend>, Spent>> spends;
    std::vector<HeartbeatDone> silent_beats;
    bool is_silent = false;
    bool has_servers = false;  // several, as a cluster
    std::string broken;        // the key whose cell holds something else than counts
    int beats = 0;
    std::uint32_t nodes = 2;
    Duration offset{0};

  private:
    bool is_broken(const KeyComponents& key) const {
        return !broken.empty() && key.current.identifier == broken;
    }
    template <class Answer>
    static Answer error() {
        Answer answer;
        answer.key_error = "the cell can't be used";
        return answer;
    }
    static CellName previous(CellName cell) {
        --cell.sequence;
        return cell;
    }
    KeyTotals totals(const CellName& current) {
        KeyTotals all;
        for (std::size_t i = 0; i < 2; ++i) {
            const Cell& cell = cells[i == 0 ? current : previous(current)];
            all[i] = {.total = cell.own + cell.peers, .own = cell.own, .known = cell.known};
            if (all[i].known <= all[i].total) all[i].known = 0;
        }
        return all;
    }
    KeyTotals lift(const KeyComponents& key) {
        for (std::size_t i = 0; i < 2; ++i) {
            Cell& cell = cells[i == 0 ? key.current : previous(key.current)];
            cell.own = std::max(cell.own, key.own[i]);
        }
        return totals(key.current);
    }
    std::vector<SpendAnswer> decide(const std::vector<KeySpend>& keys) {
        std::vector<SpendAnswer> answers;
        for (const KeySpend& key : keys) {
            if (is_broken(key.components)) {
                answers.push_back(error<SpendAnswer>());
                continue;
            }
            answers.push_back(decide_at_origin(key, lift(key.components)));
            cells[key.components.current].own = answers.back()->totals[0].own;
        }
        return answers;
    }
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_FAKE_ORIGIN_H_
