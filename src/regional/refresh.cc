#include "regional/refresh.h"

#include <utility>

#include "base/check.h"
#include "counter/epoch.h"
#include "regional/telling.h"

namespace sluice {
namespace {

Request request_of(const CellName& cell) {
    return {.workspace = cell.workspace,
            .name_space = cell.name_space,
            .identifier = cell.identifier,
            .limit = 0,
            .duration = cell.duration};
}

}  // namespace

void Refresh::ask(const Request& request, UnixTime now, Heard heard) {
    if (has_given_up_) return heard(false);
    const EpochPin pin;
    Instant at;
    const Entry& entry = table_.entry_for(table_.key(request), now, at);
    CellName cell{.workspace = std::string(request.workspace),
                  .name_space = std::string(request.name_space),
                  .identifier = std::string(request.identifier),
                  .duration = request.duration,
                  .sequence = at.sequence};
    const auto [flight, is_new] = flights_.try_emplace(
        std::move(cell), Flight{.now = now, .incarnation = entry.incarnation(), .waiting = {}});
    flight->second.waiting.push_back(std::move(heard));
    if (is_new) unsent_.push_back(flight);
}

void Refresh::send() {
    if (unsent_.empty()) return;
    const std::vector<Flights::iterator> flights = std::exchange(unsent_, {});
    std::vector<CellQuestion> questions;
    questions.reserve(2 * flights.size());
    for (const auto& flight : flights) {
        const Incarnation incarnation = flight->second.incarnation;
        questions.push_back({.cell = flight->first, .incarnation = incarnation});
        questions.push_back({.cell = flight->first, .incarnation = incarnation});
        --questions.back().cell.sequence;
    }
    reads_.fetch_add(flights.size(), std::memory_order_relaxed);
    origin_.read(std::move(questions), [this, flights](const std::vector<CellAnswer>& answers) {
        land(flights, answers);
    });
}

void Refresh::land(const std::vector<Flights::iterator>& flights,
                   const std::vector<CellAnswer>& answers) {
    if (has_given_up_) return;
    SLUICE_CHECK(answers.size() == 2 * flights.size());
    // A decision may ask for the same key again: its flight has to be over by then.
    std::vector<std::pair<Heard, bool>> told;
    for (std::size_t i = 0; i < flights.size(); ++i) {
        const CellAnswer* const both = &answers[2 * i];
        const bool is_answered = both[0] && both[1];
        Flight& flight = flights[i]->second;
        if (is_answered) merge_into_entry(flights[i]->first, flight, both);
        for (Heard& heard : flight.waiting)
            told.emplace_back(std::move(heard), is_answered);
        flights_.erase(flights[i]);
    }
    for (const auto& [heard, is_answered] : told)
        heard(is_answered);
}

void Refresh::merge_into_entry(const CellName& cell,
                               const Flight& flight,
                               const CellAnswer answers[2]) {
    const EpochPin pin;
    const Request request = request_of(cell);
    Instant at;
    Entry& entry = table_.entry_for(table_.key(request), flight.now, at);
    const Components settled(entry);
    bool has_forgotten = false;
    for (const Sequence back : {0, 1}) {
        const Sequence sequence = cell.sequence - back;
        const CellTotals& totals = *answers[back];
        merge(totals, sequence, flight.incarnation, entry);
        has_forgotten |=
            flight.incarnation == entry.incarnation() && totals.own < settled.of(sequence);
    }
    // It is on its way already, or the origin has lost it. A retired entry is no longer ours.
    if (has_forgotten) {
        const bool is_on_its_way = entry.is_untold();
        static_cast<void>(table_.changed().mark(entry));
        if (!is_on_its_way) table_.changed().hurry();
    }
    entry.set_previous_heard(flight.now);
    entry.set_told(0, 0);  // the answer may be older than a loss
    entry.set_refreshed(region_ == Region::kExclusive ? Entry::kAlways : flight.now);
    if (counted_) counted_(entry);
}

void Refresh::give_up() {
    has_given_up_ = true;
    unsent_.clear();
    for (auto& [cell, flight] : std::exchange(flights_, {}))
        for (const Heard& heard : flight.waiting)
            heard(false);
}

}  // namespace sluice
