#include "service/questions.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "counter/epoch.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "service/local_decider.h"
#include "service/owned_request.h"

namespace sluice {
namespace {

class SingleQuestion final : public Question {
  public:
    SingleQuestion(Table& table, const Request& request, CallersClock clock, Limiter::Later&& later)
        : table_(table),
          owned_({&request, 1}),
          now_(clock.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    Kind kind() const override { return Kind::kSingle; }
    std::span<const Request> stale() const override { return owned_.all(); }
    UnixTime now() const override { return now_; }
    std::size_t size() const override { return owned_.all().size(); }

    bool decide_as_held() override { return decide_by(Freshness::kAsHeld) != Outcome::kAskOrigin; }

    bool decide() override {
        decide_by(Freshness::kJustRefreshed);
        return false;
    }

    void accept_grant(const Grant& grant) override try {
        const EpochPin pin;
        enter_grant(table_, hashed(), now_, grant, *result_);
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
    }

    void finish() override { later_(std::move(result_)); }

  private:
    HashedRequest hashed() const { return table_.key(owned_.all().front()).hashed_request(); }

    Outcome decide_by(Freshness freshness) try {
        const EpochPin pin;
        return decide_at(table_, hashed(), now_, freshness, *result_);
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return Outcome::kDenied;
    }

    Table& table_;
    const OwnedRequests owned_;
    const UnixTime now_;
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
          now_(clock.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    Kind kind() const override { return Kind::kBatch; }
    std::span<const Request> stale() const override { return stale_; }
    UnixTime now() const override { return now_; }
    std::size_t size() const override { return owned_.all().size(); }

    bool decide_as_held() override try {
        std::vector<std::size_t> stale;
        auto decided = decide_batch(table_, owned_.all(), now_, Freshness::kAsHeld, &stale);
        if (decided) {
            result_ = *std::move(decided);
            return true;
        }
        stale_ = requests_at(stale);  // by what was read meanwhile
        return false;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return true;
    }

    bool decide() override try {
        result_ = *decide_batch(table_, owned_.all(), now_, Freshness::kJustRefreshed);
        return result_->passed;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return false;
    }

    void accept_grant(const Grant&) override { SLUICE_CHECK(false); }

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
    const UnixTime now_;
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
