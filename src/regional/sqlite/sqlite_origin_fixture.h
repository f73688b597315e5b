// The fixture of the tests of the SQLite origin.
#ifndef SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_FIXTURE_H_
#define SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_FIXTURE_H_

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "regional/sqlite/sqlite_origin.h"
#include "sqlite/database.h"

namespace sluice {

inline constexpr std::chrono::seconds kSoon{20};  // for a machine that is busy

// The clock of a file, which also serves to block the thread that uses the file, as a stalled disk
// does. Shared with that thread, which may outlive the test. Thread-safe.
class TestClock {
  public:
    UnixTime now() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !is_stalled_; });
        --waiting_;
        return now_;
    }
    void add(Duration duration) {
        const std::lock_guard lock(mutex_);
        now_ += duration;
    }
    void stall() {
        const std::lock_guard lock(mutex_);
        is_stalled_ = true;
    }
    void go_on() {
        const std::lock_guard lock(mutex_);
        is_stalled_ = false;
        changed_.notify_all();
    }
    // Returns when a thread is blocked.
    void wait_for_stalled() {
        std::unique_lock lock(mutex_);
        ASSERT_TRUE(changed_.wait_for(lock, kSoon, [this] { return waiting_ > 0; }));
    }

  private:
    std::mutex mutex_;  // guards the rest
    std::condition_variable changed_;
    UnixTime now_ = UnixTime{std::chrono::seconds{1'000'000}};
    bool is_stalled_ = false;
    int waiting_ = 0;
};

// A folder with the file of an origin, and calls that wait for their answers.
class SqliteOriginFixture : public testing::Test {
  public:
    static constexpr Duration kMinute{60'000};

    static CellName cell(std::string identifier, Sequence sequence = 10) {
        return {.workspace = "w",
                .name_space = "n",
                .identifier = std::move(identifier),
                .duration = kMinute,
                .sequence = sequence};
    }

    // At the start of the current cell.
    static KeyComponents key(CellName current, Count own, Incarnation incarnation = 0) {
        return {.current = std::move(current),
                .incarnation = incarnation,
                .own = {own, 0},
                .lifetime = 2 * kMinute};
    }

  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_origin_XXXXXX";
        folder_ = mkdtemp(folder.data());
    }
    void TearDown() override {
        clock_->go_on();
        std::filesystem::remove_all(folder_);
    }

    SqliteOriginOptions options(std::string node = "a") const {
        return {.path = folder_ / "counts.db",
                .region = "here",
                .node = std::move(node),
                .timeout = kSoon,
                .busy_timeout = std::chrono::milliseconds{0},
                .now = [clock = clock_] { return clock->now(); }};
    }

    std::unique_ptr<Origin> opened(const SqliteOriginOptions& with) {
        std::unique_ptr<Origin> origin = std::move(open_sqlite_origin(loop_, with).value());
        const auto note = [this](std::string event) {
            return [this, event](const std::string& why) {
                events_ += event + " ";
                why_ = why;
            };
        };
        origin->start(
            {.available =
                 [this](bool is_intact) { events_ += is_intact ? "available " : "empty "; },
             .unavailable = note("unavailable"),
             .data_lost = [this] { events_ += "lost "; },
             .write_refused = note("refused")});
        return origin;
    }
    std::unique_ptr<Origin> opened(std::string node = "a") {
        return opened(options(std::move(node)));
    }
    std::string open_error() {
        auto origin = open_sqlite_origin(loop_, options());
        return origin ? "it opened" : origin.error().message;
    }
    sqlite::Database database() const {
        return sqlite::Database::open({.path = options().path, .purpose = "test"}).value();
    }

    // Runs the loop until `is_done`.
    template <class IsDone>
    void run_until(IsDone is_done) {
        const auto end = std::chrono::steady_clock::now() + kSoon;
        while (!is_done() && std::chrono::steady_clock::now() < end)
            loop_.run_one_for(std::chrono::milliseconds{10});
        ASSERT_TRUE(is_done());
    }
    // The answer to `call`, which takes a function to pass it to.
    template <class Answer, class Call>
    Answer answer_of(Call call) {
        std::optional<Answer> answer;
        int times = 0;
        call([&](Answer answered) {
            answer = std::move(answered);
            ++times;
        });
        run_until([&] { return times > 0; });
        EXPECT_EQ(times, 1);
        return answer.value_or(Answer{});
    }

    std::vector<KeyAnswer> sync(Origin& origin, std::vector<KeyComponents> keys) {
        return answer_of<std::vector<KeyAnswer>>(
            [&](auto answered) { origin.sync(std::move(keys), answered); });
    }
    KeyAnswer sync(Origin& origin, KeyComponents components) {
        return sync(origin, std::vector{std::move(components)}).at(0);
    }
    std::optional<CellTotals> lift(Origin& origin,
                                   const CellName& name,
                                   Count own,
                                   Incarnation incarnation = 0,
                                   Duration lifetime = 2 * kMinute) {
        KeyComponents components = key(name, own, incarnation);
        components.lifetime = lifetime;
        const KeyAnswer answer = sync(origin, components);
        return answer ? std::optional(answer->at(0)) : std::nullopt;
    }
    std::optional<CellTotals> read(Origin& origin,
                                   const CellName& name,
                                   Incarnation incarnation = 0) {
        return lift(origin, name, 0, incarnation);
    }
    // Spends `costs` one after the other, of a limit of 10.
    SpendAnswer spend(Origin& origin, KeyComponents components, const std::vector<Count>& costs) {
        KeySpend spend{.components = std::move(components), .requests = {}};
        for (const Count cost : costs)
            spend.requests.push_back(
                {.elapsed = std::chrono::seconds{1}, .ask = {.cost = cost, .limit = 10}});
        return answer_of<std::vector<SpendAnswer>>(
                   [&](auto answered) { origin.spend({spend}, answered); })
            .at(0);
    }
    HeartbeatAnswer heartbeat(Origin& origin) {
        return answer_of<HeartbeatAnswer>([&](auto answered) { origin.heartbeat(answered); });
    }
    CellListing list(Origin& origin, const CellName& name) {
        return answer_of<std::vector<std::optional<CellListing>>>(
                   [&](auto answered) { origin.list({name}, answered); })
            .at(0)
            .value();
    }

    std::int64_t rows() const {
        return database()
            .number("SELECT count(*) FROM components WHERE cell != x'686561727462656174'")
            .value();
    }

    std::filesystem::path folder_;
    const std::shared_ptr<TestClock> clock_ = std::make_shared<TestClock>();
    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
        boost::asio::make_work_guard(loop_);
    std::string events_;
    std::string why_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_FIXTURE_H_
