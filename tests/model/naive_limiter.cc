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

// Both sides of `current + previous * (duration - elapsed) / duration + demand <= limit` are
// multiplied by the duration, so that nothing is rounded.
bool NaiveLimiter::fits(const Question& question, std::int64_t demand, std::int64_t instant) {
    const std::int64_t sequence = instant / question.duration;
    const std::int64_t elapsed = instant % question.duration;
    const Wide current = question.counts->at(sequence);
    const Wide previous = question.counts->at(sequence - 1);
    const Wide effective =
        (current + demand) * question.duration + previous * (question.duration - elapsed);
    return question.limit > 0 && effective <= Wide{question.limit} * question.duration;
}

// The largest cost that fits beside `demand`. The caller knows that 0 does.
std::int64_t NaiveLimiter::room(const Question& question, std::int64_t demand) {
    std::int64_t fitting = 0;
    std::int64_t too_much = question.limit + 1;
    while (too_much - fitting > 1) {
        const std::int64_t middle = fitting + (too_much - fitting) / 2;
        (fits(question, demand + middle, question.instant) ? fitting : too_much) = middle;
    }
    return fitting;
}

// Within one cell, a request that fits once fits until the cell's end, since only the weight of the
// previous cell changes, and it falls. Past the cells that hold counts everything fits that does
// not exceed the limit.
std::optional<UnixTime> NaiveLimiter::first_fit(const Question& question) {
    if (question.limit == 0 || question.demand > question.limit) return std::nullopt;
    std::int64_t early = question.instant;
    for (std::int64_t sequence = early / question.duration;; ++sequence) {
        std::int64_t late = (sequence + 1) * question.duration - 1;
        if (fits(question, question.demand, late)) {
            while (early < late) {
                const std::int64_t middle = early + (late - early) / 2;
                if (fits(question, question.demand, middle)) {
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

Decision NaiveLimiter::decide(const Question& question, Outcome outcome) {
    const std::int64_t sequence = question.instant / question.duration;
    Decision decision{.passed = fits(question, question.demand, question.instant),
                      .limit = question.limit,
                      .remaining = 0,
                      .reset_at = unix_time((sequence + 1) * question.duration),
                      .retry_at = std::nullopt};
    if (decision.passed) {
        decision.remaining = room(question, outcome == Outcome::kSpent ? question.demand : 0);
    } else {
        decision.retry_at = first_fit(question);
    }
    return decision;
}

std::vector<NaiveLimiter::Question> NaiveLimiter::questions_of(std::span<const Request> requests,
                                                               std::int64_t now) {
    std::vector<Question> questions;
    for (const Request& request : requests) {
        const std::int64_t duration = request.duration.count();
        Counts& counts = keys_[Key{.workspace = std::string(request.workspace),
                                   .name_space = std::string(request.name_space),
                                   .identifier = std::string(request.identifier),
                                   .duration = duration}];
        counts.highest = std::max(counts.highest, now / duration);
        Question question{.counts = &counts,
                          .instant = std::max(now, (counts.highest - 1) * duration),
                          .duration = duration,
                          .limit = request.limit,
                          .cost = request.cost,
                          .demand = request.cost};
        for (const Question& earlier : questions) {
            if (earlier.counts == &counts) question.demand += earlier.cost;
        }
        questions.push_back(question);
    }
    return questions;
}

Result<BatchDecision> NaiveLimiter::limit_many(std::span<const Request> requests, UnixTime now) {
    if (auto fault = fault_of(requests, now)) return Error{kInvalidRequest, *std::move(fault)};
    const auto questions = questions_of(requests, now.time_since_epoch().count());
    const bool passed =
        std::all_of(questions.begin(), questions.end(), [](const Question& question) {
            return fits(question, question.demand, question.instant);
        });

    BatchDecision batch{.passed = passed, .decisions = {}};
    for (const Question& question : questions) {
        batch.decisions.push_back(decide(question, passed ? Outcome::kSpent : Outcome::kRefused));
    }
    if (passed) {
        for (const Question& question : questions) {
            question.counts->cells[question.instant / question.duration] += question.cost;
        }
    }
    return batch;
}

Result<Decision> NaiveLimiter::debit(const Request& request, UnixTime now) {
    if (auto fault = fault_of({&request, 1}, now)) return Error{kInvalidRequest, *std::move(fault)};
    const Question question = questions_of({&request, 1}, now.time_since_epoch().count()).front();
    Decision decision = decide(question, Outcome::kSpent);
    std::int64_t& cell = question.counts->cells[question.instant / question.duration];
    cell = std::min(cell + request.cost, kMaxNumber);
    if (!decision.passed) decision.retry_at = first_fit(question);
    return decision;
}

Result<Decision> NaiveLimiter::limit(const Request& request, UnixTime now) {
    const auto batch = limit_many({&request, 1}, now);
    if (!batch) return batch.error();
    return batch->decisions.front();
}

}  // namespace sluice::model
