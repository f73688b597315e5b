// A child process uses a limiter that was made before the fork, while other threads used it.
#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "service/test_options.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr UnixTime kNow{milliseconds{6'000'000}};
constexpr std::size_t kMaxKeys = 500;
constexpr int kForks = 8;

// AddressSanitizer's own allocator is not safe to fork: a child may find its lock held for ever.
#if SLUICE_ASAN
constexpr int kMostKilled = kForks / 2;
#else
constexpr int kMostKilled = 0;
#endif

Request request(std::string_view identifier, std::int64_t limit = 1'000'000'000) {
    return {.name_space = "n", .identifier = identifier, .limit = limit, .duration = 60s};
}

// Runs `work` in several children, one after the other. Each ends with what it returns, or is
// killed where it hangs.
void run_in_children(int (*work)(Limiter&), Limiter& limiter) {
    int killed = 0;
    for (int i = 0; i < kForks && !testing::Test::HasFailure(); ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(work(limiter));
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
            ++killed;
        } else {
            EXPECT_EQ(status, 0) << "fork " << i;
        }
    }
    EXPECT_LE(killed, kMostKilled) << "children hang";
}

std::int64_t resident_bytes() {
    std::int64_t all = 0;
    std::int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

// The operations of a child process. Returns the line that failed.
#define SLUICE_REQUIRE(condition) \
    if (!(condition)) return __LINE__ % 250 + 1

int use(Limiter& limiter) {
    SLUICE_REQUIRE(limiter.limit(request("before"), kNow)->passed);
    const std::uint64_t created = limiter.stats().keys_created;
    // Far past the cap: only what is reclaimed makes room.
    for (std::size_t i = 0; i < 10 * kMaxKeys; ++i) {
        const std::string identifier = "child" + std::to_string(i);
        SLUICE_REQUIRE(limiter.limit(request(identifier), kNow)->passed);
    }
    SLUICE_REQUIRE(limiter.stats().keys_created - created == 10 * kMaxKeys);
    // Entries of the parent's changed list may stay, on top of twice the cap.
    SLUICE_REQUIRE(limiter.stats().keys_held <= 3 * kMaxKeys);
    for (int i = 0; i < 10; ++i)
        SLUICE_REQUIRE(limiter.limit(request("ten", 10), kNow)->passed);
    SLUICE_REQUIRE(!limiter.limit(request("ten", 10), kNow)->passed);
    const std::vector<Request> batch{request("many"), request("before"), request("many")};
    SLUICE_REQUIRE(limiter.limit_many(batch, kNow)->passed);
    SLUICE_REQUIRE(limiter.limit(request("by the clock")).has_value());
    int answers = 0;
    limiter.limit_async(
        request("later"), kNow, [&](auto decision) { answers += decision ? 1 : 0; });
    limiter.limit_many_async(batch, kNow, [&](auto decision) { answers += decision ? 1 : 0; });
    limiter.inspect(request("ten"), kNow, [&](auto known) { answers += known ? 1 : 0; });
    SLUICE_REQUIRE(answers == 3);
    SLUICE_REQUIRE(limiter.try_limit(request("new"), kNow).has_value());
    const Stats stats = limiter.stats();
    SLUICE_REQUIRE(stats.origin.unavailable == stats.origin.attached);
    SLUICE_REQUIRE(stats.global.unavailable == stats.global.attached);
    limiter.close(1s);
    SLUICE_REQUIRE(limiter.limit(request("closed"), kNow)->passed);
    { const Limiter last = std::move(limiter); }
    auto own = Limiter::create({.region = "eu"});
    SLUICE_REQUIRE(own && own->limit(request("own"), kNow)->passed);
    return 0;
}

struct Sharing {
    const char* name;
    const char* origin;
    const char* global;
};

class ForkTest : public testing::TestWithParam<Sharing> {
  protected:
    static std::string in_folder(std::string url) {
        if (url.starts_with("sqlite:"))
            url += (std::filesystem::temp_directory_path() /
                    ("sluice-fork-" + std::to_string(getpid()) + ".db"))
                       .string();
        return url;
    }
};

INSTANTIATE_TEST_SUITE_P(All,
                         ForkTest,
                         testing::Values(Sharing{"alone", "", ""},
                                         Sharing{"memory", "memory:fork", ""},
                                         Sharing{"sqlite", "sqlite:", ""},
                                         Sharing{"unreachable_redis", "redis://127.0.0.1:1/0", ""},
                                         Sharing{"global", "", "memory:fork"},
                                         Sharing{"both", "memory:fork-2", "memory:fork-2"}),
                         [](const auto& test) { return test.param.name; });

TEST_P(ForkTest, TheChildWorksAloneAndTheParentGoesOn) {
    Limiter limiter = *create_limiter({.region = "eu",
                                       .max_keys = kMaxKeys,
                                       .origin = in_folder(GetParam().origin),
                                       .origin_timeout = 2s,
                                       .global = GetParam().global},
                                      {.global_interval = 10ms});
    ASSERT_TRUE(limiter.limit(request("before"), kNow)->passed);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    // Deciding, making and evicting, so that a fork finds them pinned and with locks.
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; !is_over; ++i) {
                const std::string identifier = std::to_string(t) + "-" + std::to_string(i);
                EXPECT_TRUE(limiter.limit(request(identifier), kNow).has_value());
                EXPECT_TRUE(limiter.limit(request("before"), kNow).has_value());
            }
        });
    }
    run_in_children(use, limiter);
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_TRUE(limiter.limit(request("after"), kNow)->passed);
}

// The table's own thread, which a large table has, is not in the child either. The system may give
// its handle to a thread that the child starts.
TEST(Fork, TheChildMayStartThreadsAndEndALargeTable) {
    Limiter limiter = *Limiter::create({.region = "eu", .max_keys = 100'000});
    ASSERT_TRUE(limiter.limit(request("before"), kNow)->passed);
    run_in_children(
        [](Limiter& one) {
            int turns = 0;
            const auto run_thread = [&] { std::thread([&] { ++turns; }).join(); };
            run_thread();
            std::atomic<bool> is_over{false};
            std::thread meanwhile([&] { is_over.wait(false); });
            { const Limiter last = std::move(one); }
            is_over = true;
            is_over.notify_one();
            meanwhile.join();
            run_thread();
            return turns == 2 ? 0 : 1;
        },
        limiter);
    EXPECT_TRUE(limiter.limit(request("after"), kNow)->passed);
}

// A thread that never ends its pin in the child, since it is not there.
TEST(Fork, AThreadThatWasPinnedDoesNotStopReclamationInTheChild) {
    Limiter limiter = *Limiter::create({.region = "eu", .max_keys = kMaxKeys});
    std::atomic<bool> is_over{false};
    std::thread thread([&] {
        while (!is_over)
            static_cast<void>(limiter.limit(request("x"), kNow));
    });
    // Most of that thread's time is spent pinned: some of these forks meet it so.
    run_in_children(
        [](Limiter& one) {
            const auto fill = [&](const std::string& prefix) {
                for (int k = 0; k < 10'000; ++k)
                    static_cast<void>(one.limit(request(prefix + std::to_string(k)), kNow));
            };
            fill("warm");
            const std::int64_t before = resident_bytes();
            fill("more");
            // Without reclamation, 10,000 entries of 256 bytes stay.
            return resident_bytes() - before < 1'500'000 ? 0 : 1;
        },
        limiter);
    is_over = true;
    thread.join();
}

}  // namespace
}  // namespace sluice
