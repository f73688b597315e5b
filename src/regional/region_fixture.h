// The fixture of the tests of Region: one region at a FakeOrigin, on virtual time.
#ifndef SLUICE_REGIONAL_REGION_FIXTURE_H_
#define SLUICE_REGIONAL_REGION_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "regional/fake_origin.h"
#include "regional/region.h"
#include "window/sharing.h"

namespace sluice {

// Its requests come at `kNow`, the start of the window `kSequence`.
class RegionFixture : public testing::Test {
  protected:
    static constexpr Duration kMinute{60'000};
    static constexpr UnixTime kNow{Duration{6'000'000}};
    static constexpr Sequence kSequence = 100;

    RegionFixture() {
        region_.start();
        origin_.events.available(true);
    }

    // Steps until no step is due at this time.
    void run_until_idle() {
        for (int i = 0; i < 1'000 && (std::exchange(wants_step_, false) || is_due()); ++i)
            region_.step();
    }
    bool is_due() const { return region_.wake_at() && *region_.wake_at() <= now_; }
    void pass_time(std::chrono::microseconds time) {
        const auto end = now_ + time;
        run_until_idle();
        while (region_.wake_at() && *region_.wake_at() < end) {
            now_ = std::max(now_, *region_.wake_at());
            region_.step();
            run_until_idle();
        }
        now_ = end;
        region_.step();
        run_until_idle();
    }
    // After this the node knows that there are two, and may decide by its share.
    void know_nodes() { pass_time(std::chrono::milliseconds{3'500}); }

    static Request request(std::string_view identifier, std::int64_t limit, std::int64_t cost = 1) {
        return {.name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = kMinute,
                .cost = cost};
    }
    Entry& entry(std::string_view identifier) {
        const EpochPin pin;
        Instant at{};
        const Request peek = request(identifier, 1);
        return table_->entry_for(table_->key(peek), kNow, at);
    }
    Count admitted(std::string_view identifier) {
        return entry(identifier).admitted(kSequence).of(kSequence);
    }
    FakeOrigin::Cell& at_origin(std::string_view identifier, Sequence sequence = kSequence) {
        return origin_.cells[{.workspace = std::string(Request{}.workspace),
                              .name_space = "n",
                              .identifier = std::string(identifier),
                              .duration = kMinute,
                              .sequence = sequence}];
    }
    // The keys of the only flush that is underway.
    const std::vector<KeyComponents>& flush() const {
        EXPECT_EQ(origin_.syncs.size(), 1U);
        return origin_.syncs.at(0).first;
    }

    // Passes a request locally, as a decision does; the sharing rule must allow it.
    void pass(std::string_view identifier, std::int64_t limit = 1'000, std::int64_t cost = 1) {
        Entry& one = entry(identifier);
        const Ask ask{.cost = static_cast<Count>(cost), .limit = static_cast<Count>(limit)};
        const LocalVerdict verdict =
            decide_locally({.nodes = table_->nodes(),
                            .view = PeerView::kYoung,
                            .unsynced = one.unsynced(kSequence) + ask.cost,
                            .remaining = ask.limit - one.spent(kSequence) - ask.cost,
                            .limit = ask.limit});
        ASSERT_NE(verdict, LocalVerdict::kAskOrigin);
        one.admitted(kSequence).add(kSequence, ask.cost);
        table_->settle(one, kSequence, ask.cost, request(identifier, limit, cost));
        if (verdict == LocalVerdict::kPassAndFlush) table_->changed().urge(one);
    }
    // Has the origin decide a request, and enters the grant as the service does.
    void spend(const std::string& identifier, std::int64_t limit, std::int64_t cost = 1) {
        const std::size_t index = verdicts_.size();
        verdicts_.emplace_back();
        region_.spend(request(identifier, limit, cost), kNow, [=, this](auto verdict) {
            verdicts_[index] = !verdict ? "unanswered" : verdict->granted ? "granted" : "denied";
            if (!verdict || !verdict->granted) return;
            const Sequence sequence = verdict->grant.sequence;
            entry(identifier).admitted(sequence).add(sequence, static_cast<Count>(cost));
        });
    }
    // Answer the oldest call, with the steps that are due before and after it.
    void answer_spend() {
        run_until_idle();
        origin_.answer_spend();
        run_until_idle();
    }
    void lose_spend_answer() {
        run_until_idle();
        origin_.lose_spend_answer();
        run_until_idle();
    }
    void answer_flush() {
        run_until_idle();
        ASSERT_EQ(origin_.syncs.size(), 1U);
        origin_.answer_sync();
        run_until_idle();
    }
    std::size_t count(const std::string& verdict) const {
        return static_cast<std::size_t>(std::ranges::count(verdicts_, verdict));
    }

    FakeOrigin origin_;
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 1'000, .sharing = Sharing::kShared, .seed = 1});
    Region::Time now_{std::chrono::hours(1)};
    bool wants_step_ = false;
    std::vector<std::string> changes_;  // of availability: the reason, or "available"
    std::vector<std::string> key_errors_;
    std::vector<std::chrono::milliseconds> offsets_;
    std::vector<std::string> verdicts_;  // of spend()
    Region region_{
        *table_,
        origin_,
        {.clock = [this] { return now_; },
         .again = [this] { wants_step_ = true; },
         .changed =
             [this](bool unavailable, const std::string& why) {
                 changes_.push_back(unavailable ? why : "available");
             },
         .key_failed = [this](const std::string& why) { key_errors_.push_back(why); },
         .clock_offset = [this](std::chrono::milliseconds offset) { offsets_.push_back(offset); }}};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REGION_FIXTURE_H_
