#include "service/asking.h"

#include <utility>
#include <vector>

namespace sluice {

Asking::Asking(Region& region, Waits& waits, Config config)
    : region_(region), waits_(waits), config_(std::move(config)) {}

void Asking::begin(const std::shared_ptr<Question>& question) {
    if (question->decide_as_held()) return question->finish();
    const Time deadline = config_.clock() + config_.timeout;
    region_.refresh(question->stale(), question->now(), [this, question, deadline](bool is_fresh) {
        on_heard(question, deadline, is_fresh);
    });
}

void Asking::on_heard(const std::shared_ptr<Question>& question, Time deadline, bool is_fresh) {
    if (!is_fresh) count_fallback(question->now());
    const std::vector<Request> told_first = question->decide();
    if (!is_fresh || told_first.empty() || config_.kind == Refresh::Region::kExclusive)
        return question->finish();
    confirm(question, told_first, deadline);
}

void Asking::confirm(const std::shared_ptr<Question>& question,
                     std::span<const Request> requests,
                     Time deadline) {
    const Waits::Name wait = waits_.add(deadline, [question] { question->finish(); });
    region_.confirm(requests, [this, wait] { waits_.end(wait); });
}

void Asking::decide_now(Question& question) {
    count_fallback(question.now());
    question.decide();
    question.finish();
}

void Asking::count_fallback(UnixTime now) {
    fallbacks_.fetch_add(1, std::memory_order_relaxed);
    region_.note_time(now);
}

}  // namespace sluice
