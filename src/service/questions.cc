#include "service/questions.h"

#include <new>
#include <utility>

#include "base/clock.h"
#include "counter/epoch.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "decide/trust.h"
#include "service/deciding.h"
#include "service/owned_request.h"

namespace sluice {
namespace {

// Whether the next request for the same key, on another node, might not pass for this one.
bool matters_elsewhere(Table& table,
                       const Request& request,
                       const Decision& decision,
                       UnixTime now) {
    if (!decision.passed || request.cost == 0) return false;
    if (is_one_of_the_last(static_cast<Count>(decision.remaining),
                           static_cast<Count>(request.cost))) {
        return true;
    }
    const EpochPin pin;
    const Entry* const entry = table.find(table.key(request));
    return entry != nullptr && entry->is_strict(now);
}

class SingleQuestion final : public Question {
  public:
    SingleQuestion(Table& table, const Request& request, CallersClock clock, Limiter::Later&& later)
        : table_(table),
          owned_({&request, 1}),
          clock_(clock),
          asked_(clock.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    std::span<const Request> stale() const override { return owned_.all(); }
    UnixTime now() const override { return asked_; }
    std::size_t size() const override { return owned_.all().size(); }

    bool decide_as_held() override try {
        return decide_by(Freshness::kAsHeld, clock_.value_or(exact_wall_time())) !=
               Outcome::kNeedsRefresh;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return true;
    }

    std::vector<Request> decide() override try {
        const Request& request = owned_.all().front();
        std::vector<Request> matter;
        matter.reserve(1);  // before anything is spent
        const UnixTime now = clock_.value_or(exact_wall_time());
        decide_by(Freshness::kJustRefreshed, now);
        if (matters_elsewhere(table_, request, *result_, now)) matter.push_back(request);
        return matter;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return {};
    }

    void finish() override { later_(std::move(result_)); }

  private:
    Outcome decide_by(Freshness freshness, UnixTime now) {
        const EpochPin pin;
        const HashedRequest hashed = table_.key(owned_.all().front()).hashed_request();
        return decide_at(table_, hashed, now, freshness, *result_);
    }

    Table& table_;
    const OwnedRequests owned_;
    const CallersClock clock_;
    const UnixTime asked_;
    const Limiter::Later later_;
    Result<Decision> result_ = Decision{};
};

class BatchQuestion final : public Question {
  public:
    BatchQuestion(Table& table,
                  std::span<const Request> requests,
                  std::span<const std::size_t> stale,
                  CallersClock clock,
                  Limiter::LaterMany&& later)
        : table_(table),
          owned_(requests),
          stale_(requests_at(stale)),
          clock_(clock),
          asked_(clock.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    std::span<const Request> stale() const override { return stale_; }
    UnixTime now() const override { return asked_; }
    std::size_t size() const override { return owned_.all().size(); }

    bool decide_as_held() override try {
        std::vector<std::size_t> stale;
        auto decided = decide_batch(table_, owned_.all(), clock_, Freshness::kAsHeld, &stale);
        if (decided) {
            result_ = *std::move(decided);
            return true;
        }
        stale_ = requests_at(stale);  // others than before, perhaps: what was heard meanwhile tells
        return false;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return true;
    }

    std::vector<Request> decide() override try {
        std::vector<Request> matter;
        matter.reserve(owned_.all().size());  // before anything is spent
        result_ = *decide_batch(table_, owned_.all(), clock_, Freshness::kJustRefreshed);
        if (!result_->passed) return matter;
        const UnixTime now = clock_.value_or(asked_);
        for (std::size_t i = 0; i < owned_.all().size(); ++i) {
            const Request& request = owned_.all()[i];
            if (matters_elsewhere(table_, request, result_->decisions[i], now))
                matter.push_back(request);
        }
        return matter;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return {};
    }

    void finish() override { later_(std::move(result_)); }

  private:
    std::vector<Request> requests_at(std::span<const std::size_t> indices) const {
        std::vector<Request> requests;
        for (const std::size_t index : indices)
            requests.push_back(owned_.all()[index]);
        return requests;
    }

    Table& table_;
    const OwnedRequests owned_;
    std::vector<Request> stale_;
    const CallersClock clock_;
    const UnixTime asked_;
    const Limiter::LaterMany later_;
    Result<BatchDecision> result_ = BatchDecision{};
};

}  // namespace

std::shared_ptr<Question> make_question(Table& table,
                                        const Request& request,
                                        CallersClock clock,
                                        Limiter::Later&& later) {
    return std::make_shared<SingleQuestion>(table, request, clock, std::move(later));
}

std::shared_ptr<Question> make_question(Table& table,
                                        std::span<const Request> requests,
                                        std::span<const std::size_t> stale,
                                        CallersClock clock,
                                        Limiter::LaterMany&& later) {
    return std::make_shared<BatchQuestion>(table, requests, stale, clock, std::move(later));
}

}  // namespace sluice
