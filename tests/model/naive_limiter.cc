#include "model/naive_limiter.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::model {
namespace {

__extension__ using Wide = __int128;

UnixTime unix_time(std::int64_t milliseconds) {
    return UnixTime{std::chrono::milliseconds{milliseconds}};
}

bool is_number(std::int64_t value) {
    return value >= 0 && value <= kMaxNumber;
}

bool is_part(std::string_view text) {
    const auto characters = std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    });
    return characters >= 1 && characters <= 512 && text.size() <= 2048;
}

// The name of a field that is out of range, or nothing.
std::optional<std::string> fault_of(const Request& request) {
    if (!is_part(request.workspace)) return "workspace";
    if (!is_part(request.name_space)) return "name_space";
    if (!is_part(request.identifier)) return "identifier";
    if (!is_number(request.limit)) return "limit";
    if (request.duration.count() < 1'000 || request.duration.count() > 31'622'400'000) {
        return "duration";
    }
    if (!is_number(request.cost)) return "cost";
    return std::nullopt;
}

std::optional<std::string> fault_of(std::span<const Request> requests, UnixTime now) {
    if (requests.empty() || requests.size() > 100) return "requests";
    if (!is_number(now.time_since_epoch().count())) return "now";
    for (const Request& request : requests) {
        if (auto fault = fault_of(request)) return fault;
    }
    return std::nullopt;
}

}  // namespace

std::int64_t NaiveLimiter::Counts::at(std::int64_t sequence) const {
    const auto cell = cells.find(sequence);
    return cell == cells.end() ? 0 : cell->second;
}

std::int64_t NaiveLimiter::Counts::starts_over_in(std::int64_t asked) const {
    for (const std::int64_t since : {0, 1})
        if ((asked - left - since) % 128 == 0) return asked + 2 - since;
    return asked;
}

void NaiveLimiter::Counts::move_to(std::int64_t asked) {
    const bool is_far_back = asked < highest - 2;
    if (highest == -1 || (is_far_back && starts_over_in(asked) == asked)) {
        *this = {.highest = asked, .left = asked, .cells = {}};
    } else if (asked > highest) {
        if (asked > highest + 2) left = highest;
        highest = asked;
    }
}

std::int64_t NaiveLimiter::Counts::decided_at(std::int64_t now, std::int64_t duration) const {
    if (now / duration < highest - 2) return highest * duration;
    return std::max(now, (highest - 1) * duration);
}

// Both sides of `current + previous * (duration - elapsed) / duration + demand <= limit` are
// multiplied by the duration, so that nothing is rounded.
bool NaiveLimiter::fits(const Query& query, std::int64_t demand, std::int64_t instant) {
    const std::int64_t sequence = instant / query.duration;
    const std::int64_t elapsed = instant % query.duration;
    const Wide current = query.counts->at(sequence);
    const Wide previous = query.counts->at(sequence - 1);
    const Wide effective =
        (current + demand) * query.duration + previous * (query.duration - elapsed);
    return query.limit > 0 && effective <= Wide{query.limit} * query.duration;
}

// The largest cost that fits beside `demand`. The caller knows that 0 does.
std::int64_t NaiveLimiter::room(const Query& query, std::int64_t demand) {
    std::int64_t fitting = 0;
    std::int64_t too_much = query.limit + 1;
    while (too_much - fitting > 1) {
        const std::int64_t middle = fitting + (too_much - fitting) / 2;
        (fits(query, demand + middle, query.instant) ? fitting : too_much) = middle;
    }
    return fitting;
}

// Within one cell, a request that fits once fits until the cell's end, since only the weight of the
// previous cell changes, and it falls. Past the cells that hold counts everything fits that does
// not exceed the limit.
std::optional<UnixTime> NaiveLimiter::first_fit(const Query& query) {
    if (query.limit == 0 || query.demand > query.limit) return std::nullopt;
    std::int64_t early = query.instant;
    // A clock that has stepped back comes to where the key starts over, or to where a request is
    // only late.
    const Counts& counts = *query.counts;
    if (const std::int64_t asked = query.now / query.duration; asked < counts.highest - 2) {
        const std::int64_t over = counts.starts_over_in(asked);
        const std::int64_t late = counts.highest - 2;
        if (over < late) return unix_time(over * query.duration);
        early = (late + 1) * query.duration;
        if (fits(query, query.demand, early)) return unix_time(late * query.duration);
    }
    for (std::int64_t sequence = early / query.duration;; ++sequence) {
        std::int64_t late = (sequence + 1) * query.duration - 1;
        if (fits(query, query.demand, late)) {
            while (early < late) {
                const std::int64_t middle = early + (late - early) / 2;
                if (fits(query, query.demand, middle)) {
                    late = middle;
                } else {
                    early = middle + 1;
                }
            }
            return unix_time(early);
        }
        early = late + 1;
    }
}

Decision NaiveLimiter::decide(const Query& query, Outcome outcome) {
    const std::int64_t sequence = query.instant / query.duration;
    Decision decision{.passed = fits(query, query.demand, query.instant),
                      .limit = query.limit,
                      .remaining = 0,
                      .reset_at = unix_time((sequence + 1) * query.duration),
                      .retry_at = std::nullopt};
    if (decision.passed) {
        decision.remaining = room(query, outcome == Outcome::kSpent ? query.demand : 0);
    } else {
        decision.retry_at = first_fit(query);
    }
    return decision;
}

std::vector<NaiveLimiter::Query> NaiveLimiter::queries_of(std::span<const Request> requests,
                                                          std::int64_t now) {
    std::vector<Query> queries;
    for (const Request& request : requests) {
        const std::int64_t duration = request.duration.count();
        Counts& counts = keys_[Key{.workspace = std::string(request.workspace),
                                   .name_space = std::string(request.name_space),
                                   .identifier = std::string(request.identifier),
                                   .duration = duration}];
        counts.move_to(now / duration);
        Query query{.counts = &counts,
                    .now = now,
                    .instant = counts.decided_at(now, duration),
                    .duration = duration,
                    .limit = request.limit,
                    .cost = request.cost,
                    .demand = request.cost};
        for (const Query& earlier : queries) {
            if (earlier.counts == &counts) query.demand += earlier.cost;
        }
        queries.push_back(query);
    }
    return queries;
}

Result<BatchDecision> NaiveLimiter::limit_many(std::span<const Request> requests, UnixTime now) {
    if (auto fault = fault_of(requests, now)) return Error{kInvalidRequest, *std::move(fault)};
    const auto queries = queries_of(requests, now.time_since_epoch().count());
    const bool passed = std::all_of(queries.begin(), queries.end(), [](const Query& query) {
        return fits(query, query.demand, query.instant);
    });

    BatchDecision batch{.passed = passed, .decisions = {}};
    for (const Query& query : queries) {
        batch.decisions.push_back(decide(query, passed ? Outcome::kSpent : Outcome::kRefused));
    }
    if (passed) {
        for (const Query& query : queries) {
            query.counts->cells[query.instant / query.duration] += query.cost;
        }
    }
    return batch;
}

Result<Decision> NaiveLimiter::debit(const Request& request, UnixTime now) {
    if (auto fault = fault_of({&request, 1}, now)) return Error{kInvalidRequest, *std::move(fault)};
    const Query query = queries_of({&request, 1}, now.time_since_epoch().count()).front();
    Decision decision = decide(query, Outcome::kSpent);
    std::int64_t& cell = query.counts->cells[query.instant / query.duration];
    cell = std::min(cell + request.cost, kMaxNumber);
    if (!decision.passed) decision.retry_at = first_fit(query);
    return decision;
}

Result<Decision> NaiveLimiter::limit(const Request& request, UnixTime now) {
    const auto batch = limit_many({&request, 1}, now);
    if (!batch) return batch.error();
    return batch->decisions.front();
}

}  // namespace sluice::model
