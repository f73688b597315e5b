// A thread that sleeps while it is pinned, for as long as it likes, keeps the memory of the entries
// that it may see and of no others.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"

namespace sluice {
namespace {

constexpr std::size_t kCap = 1'000;
constexpr int kManyKeys = 80'000;
constexpr int kNewKeys = 10'000;
// Entries that wait for readers to be looked at, and those of the epoch in which the thread fell
// asleep.
constexpr std::size_t kSlack = 128;

class SleepingReaderTest : public testing::TestWithParam<Sharing> {
  protected:
    static Request request(const std::string& identifier) {
        return {.workspace = "w",
                .name_space = "n",
                .identifier = identifier,
                .duration = Duration{60'000}};
    }
    void use(const std::string& identifier, UnixTime now = kNow) {
        const EpochPin pin;
        const Request asked = request(identifier);
        Instant at{};
        Entry& entry = table_->entry_for(table_->key(asked), now, at);
        entry.note_use(10, now);
        entry.admitted(at.sequence).add(at.sequence, 1);
    }
    void use_new_keys(int count, UnixTime now = kNow) {
        for (int i = 0; i < count; ++i)
            use("key " + std::to_string(next_++), now);
    }
    void expect_bounded() {
        EXPECT_LE(table_->tally().held(), 2 * kCap + kSlack);
        EXPECT_LE(table_->memory().allocated, 2 * kCap + kSlack);
    }

    // Finds `identifier`, and stays pinned until it is woken. It then finds the entry as it was.
    class Sleeper {
      public:
        Sleeper(Table& table, std::string identifier)
            : thread_([this, &table, identifier = std::move(identifier)] {
                  const Request asked = request(identifier);
                  const EpochPin pin;
                  const Entry* const entry = table.find(table.key(asked));
                  is_asleep_.store(true);
                  is_woken_.wait(false);
                  if (entry != nullptr) {
                      EXPECT_TRUE(entry->has_key(table.key(asked)));
                      EXPECT_EQ(entry->spent(instant_at(kNow, entry->duration()).sequence), 1U);
                  }
              }) {
            while (!is_asleep_.load())
                std::this_thread::yield();
        }
        ~Sleeper() {
            is_woken_.store(true);
            is_woken_.notify_all();
            thread_.join();
        }
        Sleeper(const Sleeper&) = delete;
        Sleeper& operator=(const Sleeper&) = delete;

      private:
        std::atomic<bool> is_asleep_{false};
        std::atomic<bool> is_woken_{false};
        std::thread thread_;
    };

    static constexpr UnixTime kNow{Duration{6'000'000}};
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = kCap, .sharing = GetParam(), .seed = 1});
    int next_ = 0;
};

TEST_P(SleepingReaderTest, CostsNoMoreThanTheKeysThatItMaySee) {
    for (const int count : {kManyKeys, kNewKeys, kNewKeys}) {
        use_new_keys(4 * kCap);
        const Sleeper sleeper(*table_, "key " + std::to_string(next_ - 1));
        const std::uint64_t before = table_->memory().examined;
        use_new_keys(count);
        expect_bounded();
        EXPECT_LE(table_->memory().examined - before, 6U * static_cast<unsigned>(count));
    }
}

TEST_P(SleepingReaderTest, SeveralThatFallAsleepOneAfterTheOther) {
    use_new_keys(kCap);
    auto first = std::make_unique<Sleeper>(*table_, "key 1");
    for (int i = 0; i < 5; ++i) {
        use_new_keys(kNewKeys / 5);
        auto second = std::make_unique<Sleeper>(*table_, "key " + std::to_string(next_ - 1));
        use_new_keys(kNewKeys / 5);
        first = std::move(second);
        use_new_keys(kNewKeys / 5);
    }
    EXPECT_LE(table_->memory().allocated, 4 * kCap + kSlack) << "two slept at a time";
    EXPECT_LE(table_->memory().examined, 6U * static_cast<unsigned>(next_));
}

TEST_P(SleepingReaderTest, ManyThatFallAsleepTogether) {
    use_new_keys(kCap);
    std::vector<std::unique_ptr<Sleeper>> sleepers;
    for (int i = 0; i < 70; ++i)
        sleepers.push_back(std::make_unique<Sleeper>(*table_, "key " + std::to_string(i)));
    use_new_keys(kNewKeys);
    expect_bounded();
}

TEST_P(SleepingReaderTest, TheTableReturnsToItsCapWhenTheThreadWakes) {
    use_new_keys(kCap);
    {
        const Sleeper sleeper(*table_, "key 1");
        use_new_keys(kNewKeys);
    }
    use_new_keys(4 * kCap);
    EXPECT_LE(table_->tally().held(), kCap + 8);
}

// Dead entries are removed at once, even if they were on their way out.
TEST_P(SleepingReaderTest, EntriesThatExpireMeanwhileAreBoundedAsWell) {
    use_new_keys(kCap);
    const Sleeper sleeper(*table_, "key 1");
    for (int i = 0; i < 20; ++i) {
        use_new_keys(kNewKeys / 5, kNow + i * Duration{240'000});
        expect_bounded();
    }
    EXPECT_LE(table_->memory().examined, 6U * static_cast<unsigned>(next_));
}

INSTANTIATE_TEST_SUITE_P(All,
                         SleepingReaderTest,
                         testing::Values(Sharing::kAlone, Sharing::kSole, Sharing::kShared));

}  // namespace
}  // namespace sluice
