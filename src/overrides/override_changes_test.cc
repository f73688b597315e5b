#include "overrides/override_changes.h"

#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;

constexpr LimitAndDuration kValue{.limit = 5, .duration = 60s};

OverrideKey key_of(std::string_view identifier) {
    return {.workspace = "w", .name_space = "n", .identifier = identifier};
}

// A store in the hands of a test: it waits where the test says so, and fails as the test says. It
// counts versions, as one that is shared does.
class HeldStore final : public OverrideStore {
  public:
    struct State {
        Mutex mutex;
        std::condition_variable_any changed;
        bool is_open SLUICE_GUARDED_BY(mutex) = true;  // else calls wait
        bool is_interrupted SLUICE_GUARDED_BY(mutex) = false;
        std::optional<Error> failure SLUICE_GUARDED_BY(mutex);
        std::vector<std::string> puts SLUICE_GUARDED_BY(mutex);
        std::vector<Override> foreign SLUICE_GUARDED_BY(mutex);
        std::uint64_t version SLUICE_GUARDED_BY(mutex) = 0;
        int calls SLUICE_GUARDED_BY(mutex) = 0;
    };
    explicit HeldStore(State& state) : state_(state) {}

    Result<std::uint64_t> version() override {
        const MutexLock lock(state_.mutex);
        if (auto error = arrive()) return *std::move(error);
        return state_.version;
    }
    Result<Contents> load_all() override {
        const MutexLock lock(state_.mutex);
        if (auto error = arrive()) return *std::move(error);
        return Contents{state_.foreign, state_.version};
    }
    Result<Stored> put(const Override& entry, const std::optional<Author>&) override {
        const MutexLock lock(state_.mutex);
        if (auto error = arrive()) return *std::move(error);
        state_.puts.push_back(entry.identifier);
        return Stored{entry, ++state_.version};
    }
    Result<std::vector<Change>> changes(const ChangeQuery&) override {
        return std::vector<Change>{};
    }
    Result<Removed> remove(const OverrideKey&, const std::optional<Author>&) override {
        const MutexLock lock(state_.mutex);
        if (auto error = arrive()) return *std::move(error);
        return Removed{true, ++state_.version};
    }
    void interrupt() override {
        const MutexLock lock(state_.mutex);
        state_.is_interrupted = true;
        state_.changed.notify_all();
    }

  private:
    std::optional<Error> arrive() SLUICE_REQUIRES(state_.mutex) {
        ++state_.calls;
        state_.changed.notify_all();
        state_.changed.wait(state_.mutex, [this] {
            state_.mutex.assert_held();
            return state_.is_open || state_.is_interrupted;
        });
        if (state_.is_interrupted) return Error{kStoreUnavailable, "interrupted"};
        return state_.failure;
    }
    State& state_;
};

class OverrideChangesTest : public testing::Test {
  protected:
    void hold() {
        change([](auto& state) {
            state.mutex.assert_held();
            state.is_open = false;
        });
    }
    void release() {
        change([](auto& state) {
            state.mutex.assert_held();
            state.is_open = true;
        });
    }
    void fail(const std::optional<Error>& how) {
        change([&](auto& state) {
            state.mutex.assert_held();
            state.failure = how;
        });
    }
    void change(const std::function<void(HeldStore::State&)>& act) {
        const MutexLock lock(state_.mutex);
        act(state_);
        state_.changed.notify_all();
    }
    // Waits until the store has been asked that often.
    void await_calls(int calls) {
        const MutexLock lock(state_.mutex);
        state_.changed.wait(state_.mutex, [&] {
            state_.mutex.assert_held();
            return state_.calls >= calls;
        });
    }
    int calls() {
        const MutexLock lock(state_.mutex);
        return state_.calls;
    }

    std::future<Result<std::string>> set(OverrideChanges& changes, std::string_view identifier) {
        auto promise = std::make_shared<std::promise<Result<std::string>>>();
        const bool taken = changes.set(key_of(identifier), kValue, {}, [promise](auto id) {
            promise->set_value(std::move(id));
        });
        if (!taken) promise->set_value(Error{kInvalidOption, "not taken"});
        return promise->get_future();
    }

    HeldStore::State state_;
    std::unique_ptr<OverrideSet> set_ =
        OverrideSet::open_shared(std::make_unique<HeldStore>(state_), {}).value();
};

TEST_F(OverrideChangesTest, ChangesAreMadeInTheirOrderWhileTheirCallerGoesOn) {
    OverrideChanges changes(*set_, {});
    hold();
    std::vector<std::future<Result<std::string>>> answers;
    for (const char* identifier : {"a", "b", "c"})
        answers.push_back(set(changes, identifier));
    EXPECT_FALSE(set_->get(key_of("a"))) << "the store has not answered";
    release();
    for (auto& answer : answers)
        EXPECT_TRUE(answer.get());
    EXPECT_TRUE(set_->get(key_of("a"))) << "an answer comes after the change holds";
    const MutexLock lock(state_.mutex);
    EXPECT_EQ(state_.puts, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(OverrideChangesTest, AnswersWhetherThereWasOneToRemove) {
    OverrideChanges changes(*set_, {});
    EXPECT_TRUE(set(changes, "a").get());
    std::promise<Result<bool>> removed;
    EXPECT_TRUE(
        changes.remove(key_of("a"), {}, [&](auto found) { removed.set_value(std::move(found)); }));
    EXPECT_TRUE(removed.get_future().get().value());
    EXPECT_FALSE(set_->get(key_of("a")));
}

TEST_F(OverrideChangesTest, BeyondTheMostThatMayWaitChangesAreRefused) {
    OverrideChanges changes(*set_, {.most_waiting = 2});
    hold();
    auto underway = set(changes, "a");
    await_calls(1);
    auto first = set(changes, "b");
    auto second = set(changes, "c");
    EXPECT_EQ(set(changes, "d").get().error().message, "not taken");
    release();
    EXPECT_TRUE(underway.get());
    EXPECT_TRUE(first.get());
    EXPECT_TRUE(second.get());
    EXPECT_TRUE(set(changes, "d").get());
}

TEST_F(OverrideChangesTest, ClosingInterruptsTheStoreAndAnswersWhatWaits) {
    OverrideChanges changes(*set_, {});
    hold();
    auto underway = set(changes, "a");
    await_calls(1);
    auto waiting = set(changes, "b");
    changes.close();
    EXPECT_EQ(underway.get().error().code, kStoreUnavailable);
    EXPECT_EQ(waiting.get().error().code, kStoreUnavailable);
    EXPECT_EQ(set(changes, "c").get().error().message, "not taken");
    EXPECT_EQ(set_->size(), 0U);
}

Override foreign(std::uint64_t order) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = "foreign",
            .id = "rlor_f",
            .value = kValue,
            .order = order};
}

TEST_F(OverrideChangesTest, ReadsChangesOfOtherNodesBeforeItIsReadyAndPeriodically) {
    change([](auto& state) {
        state.mutex.assert_held();
        state.foreign = {foreign(1)};
        state.version = 7;
    });
    const OverrideChanges changes(*set_, {.interval = 1ms});
    EXPECT_TRUE(set_->get(key_of("foreign")));
    change([](auto& state) {
        state.mutex.assert_held();
        state.foreign.clear();
        state.version = 8;
    });
    // A round that began after the change has ended when the next one begins.
    await_calls(calls() + 4);
    EXPECT_FALSE(set_->get(key_of("foreign")));
}

TEST_F(OverrideChangesTest, ReportsFailuresWhenTheyBeginChangeAndEnd) {
    std::vector<std::string> reported;
    const Error unavailable{kStoreUnavailable, "unavailable"};
    const Error full{kStoreFailed, "full"};
    {
        OverrideChanges changes(*set_, {.on_health_change = [&](const auto& failure) {
            reported.push_back(failure ? failure->message : "none");
        }});
        EXPECT_TRUE(set(changes, "a").get());
        fail(unavailable);
        EXPECT_FALSE(set(changes, "b").get());
        EXPECT_TRUE(changes.is_failing());
        EXPECT_FALSE(set(changes, "b").get());
        fail(full);
        EXPECT_FALSE(set(changes, "b").get());
        EXPECT_FALSE(set(changes, "").get()) << "a field out of range says nothing about the store";
        EXPECT_TRUE(changes.is_failing());
        fail(std::nullopt);
        EXPECT_TRUE(set(changes, "b").get());
        EXPECT_FALSE(changes.is_failing());
    }
    EXPECT_EQ(reported, (std::vector<std::string>{"unavailable", "full", "none"}));
}

}  // namespace
}  // namespace sluice::overrides
