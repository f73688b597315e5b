#include "model/history.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

struct Texts {
    std::string_view workspace;
    std::string_view name_space;
    std::string_view identifier;
};

// Joined without lengths, or compared without case or trailing blanks, some of these would be one
// key.
constexpr std::array<Texts, kKeys + 1> kTexts{{{"default", "api", "alice"},
                                               {"default", "api", "Alice"},
                                               {"default", "api", "alice "},
                                               {"default", "apia", "lice"},
                                               {"defaulta", "pi", "alice"},
                                               {"a", "b", "c"},
                                               {"a-b", "c", "\xC3\xA9"},
                                               {"a", "b-c", std::string_view("\0", 1)},
                                               {"default", "api", ""}}};

std::int64_t count_of(UnixTime time) {
    return time.time_since_epoch().count();
}

std::string describe(const Decision& decision) {
    std::ostringstream out;
    out << (decision.passed ? "passed" : "denied") << " limit " << decision.limit << " remaining "
        << decision.remaining << " reset_at " << count_of(decision.reset_at) << " retry_at ";
    if (decision.retry_at) {
        out << count_of(*decision.retry_at);
    } else {
        out << "none";
    }
    return out.str();
}

std::string describe(const Answer& answer) {
    if (!answer) {
        return answer.error().code == kInvalidRequest ? "invalid request" : answer.error().message;
    }
    std::ostringstream out;
    out << (answer->passed ? "all passed" : "not all passed");
    for (const Decision& decision : answer->decisions) {
        out << "\n    " << describe(decision);
    }
    return out.str();
}

bool same(const Decision& a, const Decision& b) {
    return a.passed == b.passed && a.limit == b.limit && a.remaining == b.remaining &&
           a.reset_at == b.reset_at && a.retry_at == b.retry_at;
}

bool same(const Answer& a, const Answer& b) {
    if (!a || !b) return !a && !b && a.error().code == b.error().code;
    return a->passed == b->passed &&
           std::ranges::equal(a->decisions, b->decisions, [](const Decision& x, const Decision& y) {
               return same(x, y);
           });
}

Answer as_batch(const Result<Decision>& single) {
    if (!single) return single.error();
    return BatchDecision{.passed = single->passed, .decisions = {*single}};
}

// Leaves out calls, in ever smaller runs, as long as the rest still fails.
void leave_out_calls(History& history, const std::function<bool(const History&)>& fails) {
    for (std::size_t run = history.size(); run > 0; run /= 2) {
        for (std::size_t begin = 0; begin + run <= history.size();) {
            History shorter = history;
            const auto from = shorter.begin() + static_cast<std::ptrdiff_t>(begin);
            shorter.erase(from, from + static_cast<std::ptrdiff_t>(run));
            if (fails(shorter)) {
                history = std::move(shorter);
            } else {
                ++begin;
            }
        }
    }
}

void leave_out_asks(History& history, const std::function<bool(const History&)>& fails) {
    for (std::size_t call = 0; call < history.size(); ++call) {
        for (std::size_t ask = 0;
             ask < history[call].asks.size() && history[call].asks.size() > 1;) {
            History shorter = history;
            auto& asks = shorter[call].asks;
            asks.erase(asks.begin() + static_cast<std::ptrdiff_t>(ask));
            if (fails(shorter)) {
                history = std::move(shorter);
            } else {
                ++ask;
            }
        }
    }
}

}  // namespace

Request request_of(const Ask& ask) {
    const Texts& texts = kTexts.at(static_cast<std::size_t>(ask.key));
    return {.workspace = texts.workspace,
            .name_space = texts.name_space,
            .identifier = texts.identifier,
            .limit = ask.limit,
            .duration = std::chrono::milliseconds{ask.duration},
            .cost = ask.cost};
}

Limiter fresh_limiter() {
    auto limiter = Limiter::create({.region = "test", .max_keys = 1'000});
    if (!limiter) throw std::runtime_error(limiter.error().message);
    return *std::move(limiter);
}

template <class AnyLimiter>
Answer make_call(AnyLimiter& limiter, const Call& call) {
    const UnixTime now{std::chrono::milliseconds{call.now}};
    if (call.kind == CallKind::kSingle)
        return as_batch(limiter.limit(request_of(call.asks.at(0)), now));
    std::vector<Request> requests;
    std::transform(call.asks.begin(), call.asks.end(), std::back_inserter(requests), request_of);
    return limiter.limit_many(requests, now);
}

template Answer make_call(Limiter& limiter, const Call& call);
template Answer make_call(NaiveLimiter& limiter, const Call& call);

void replay(Limiter& limiter, const History& history) {
    for (const Call& call : history) {
        static_cast<void>(make_call(limiter, call));
    }
}

std::optional<std::string> first_difference(const History& history) {
    Limiter limiter = fresh_limiter();
    NaiveLimiter model;
    for (std::size_t i = 0; i < history.size(); ++i) {
        const Answer expected = make_call(model, history[i]);
        const Answer actual = make_call(limiter, history[i]);
        if (same(expected, actual)) continue;
        std::ostringstream out;
        out << "call " << i << ": " << history[i] << "\n  should be: " << describe(expected)
            << "\n  but is:    " << describe(actual);
        return out.str();
    }
    return std::nullopt;
}

History minimal(History history, const std::function<bool(const History&)>& fails) {
    leave_out_calls(history, fails);
    leave_out_asks(history, fails);
    return history;
}

std::ostream& operator<<(std::ostream& out, const Ask& ask) {
    return out << "{.key = " << ask.key << ", .limit = " << ask.limit
               << ", .duration = " << ask.duration << ", .cost = " << ask.cost << "}";
}

std::ostream& operator<<(std::ostream& out, const Call& call) {
    out << "{.now = " << call.now
        << ", .kind = CallKind::" << (call.kind == CallKind::kSingle ? "kSingle" : "kBatch")
        << ", .asks = {";
    for (std::size_t i = 0; i < call.asks.size(); ++i) {
        out << (i == 0 ? "" : ", ") << call.asks[i];
    }
    return out << "}}";
}

std::string to_text(const History& history) {
    std::ostringstream out;
    for (const Call& call : history) {
        out << "    " << call << ",\n";
    }
    return out.str();
}

}  // namespace sluice::model
