#include "service/pending_decision.h"

#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "counter/epoch.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "decide/valid.h"

namespace sluice {

bool PendingDecision::try_decide() {
    const MutexLock lock(mutex_);
    if (!is_decided_) is_decided_ = decide_by_rule();
    return is_decided_;
}

std::optional<bool> PendingDecision::decide_now() {
    const MutexLock lock(mutex_);
    if (is_decided_) return std::nullopt;
    is_decided_ = true;
    return decide_from_counts();
}

void PendingDecision::accept_grant(const Grant& grant) {
    const MutexLock lock(mutex_);
    if (is_decided_) return;
    is_decided_ = true;
    decide_by_grant(grant);
}

void PendingDecision::finish() {
    {
        const MutexLock lock(mutex_);
        if (!is_decided_ || is_finished_) return;
        is_finished_ = true;
    }
    // Without the lock: the callback may make further requests.
    deliver();
    if (finished_) finished_(*this);
}

namespace {

class PendingSingle final : public PendingDecision {
  public:
    PendingSingle(Table& table,
                  const Request& request,
                  std::optional<UnixTime> now,
                  Limiter::Later&& later)
        : table_(table),
          owned_({&request, 1}),
          now_(now.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    Kind kind() const override { return Kind::kSingle; }
    std::span<const Request> stale() const override { return owned_.all(); }
    UnixTime now() const override { return now_; }
    std::size_t size() const override { return owned_.all().size(); }

  private:
    bool decide_by_rule() override {
        return decide(SharingRule::kApply) != AdmitOutcome::kAskOrigin;
    }

    bool decide_from_counts() override {
        decide(SharingRule::kSkip);
        return false;
    }

    void decide_by_grant(const Grant& grant) override try {
        const EpochPin pin;
        enter_grant(table_, hashed(), now_, grant, *result_);
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
    }

    void deliver() override { later_(std::move(result_)); }

    HashedRequest hashed() const { return table_.key(owned_.all().front()).hashed_request(); }

    AdmitOutcome decide(SharingRule rule) try {
        const EpochPin pin;
        return decide_at(table_, hashed(), now_, rule, *result_);
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return AdmitOutcome::kDenied;
    }

    Table& table_;
    const OwnedRequests owned_;
    const UnixTime now_;
    Limiter::Later later_;
    Result<Decision> result_ = Decision{};
};

class PendingBatch final : public PendingDecision {
  public:
    PendingBatch(Table& table,
                 std::span<const Request> requests,
                 std::span<const std::size_t> stale,
                 std::optional<UnixTime> now,
                 Limiter::LaterMany&& later)
        : table_(table),
          owned_(requests),
          stale_(requests_at(stale)),
          now_(now.value_or(exact_wall_time())),
          later_(std::move(later)) {}

    Kind kind() const override { return Kind::kBatch; }
    std::span<const Request> stale() const override { return stale_; }
    UnixTime now() const override { return now_; }
    std::size_t size() const override { return owned_.all().size(); }

  private:
    bool decide_by_rule() override try {
        std::vector<std::size_t> stale;
        auto decided = decide_batch(table_, owned_.all(), now_, SharingRule::kApply, &stale);
        if (decided) {
            result_ = *std::move(decided);
            return true;
        }
        stale_ = requests_at(stale);  // without the keys that were read meanwhile
        return false;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return true;
    }

    bool decide_from_counts() override try {
        result_ = *decide_batch(table_, owned_.all(), now_, SharingRule::kSkip);
        return result_->passed;
    } catch (const std::bad_alloc&) {
        result_ = out_of_memory();
        return false;
    }

    void decide_by_grant(const Grant&) override { SLUICE_CHECK(false); }

    void deliver() override { later_(std::move(result_)); }

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
    Limiter::LaterMany later_;
    Result<BatchDecision> result_ = BatchDecision{};
};

}  // namespace

std::shared_ptr<PendingDecision> make_pending_decision(Table& table,
                                                       const Request& request,
                                                       std::optional<UnixTime> now,
                                                       Limiter::Later&& later) {
    return std::make_shared<PendingSingle>(table, request, now, std::move(later));
}

std::shared_ptr<PendingDecision> make_pending_batch(Table& table,
                                                    std::span<const Request> requests,
                                                    std::span<const std::size_t> stale,
                                                    std::optional<UnixTime> now,
                                                    Limiter::LaterMany&& later) {
    return std::make_shared<PendingBatch>(table, requests, stale, now, std::move(later));
}

}  // namespace sluice
