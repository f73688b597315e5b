// Whichever allocation of a background thread fails: the process goes on, the failure is reported,
// and the thread does its work again or says that it has ended.
#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "grpc/client/ads_client.h"
#include "insight/observer.h"
#include "log/line_writer.h"
#include "overrides/override_changes.h"
#include "rls/rule_watch.h"
#include "service/test_options.h"
#include "stress/failing_system.h"
#include "trace/tracer.h"

namespace sluice::stress {
namespace {

using namespace std::chrono_literals;

bool eventually(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; !condition();) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

// Has an allocation of the thread fail: the first, the second, the fourth and so on, as long as it
// makes so many within `turn`, which has the thread work and waits until it has done so. `works`
// does the same, and returns whether the work was done. Returns how many allocations have failed.
int fail_allocations(const char* thread,
                     const std::function<void()>& turn,
                     const std::function<bool()>& works) {
    int failed = 0;
    for (int n = 1; n < 5'000; n *= 2) {
        fail_allocation_of(thread, n);
        turn();
        if (!stop_failing_threads()) break;
        ++failed;
        EXPECT_TRUE(works()) << thread << " after the failure of allocation " << n;
    }
    EXPECT_GT(failed, 0) << thread << " makes no allocation";
    return failed;
}

// Counts failures, and remembers whether a thread has ended.
class Reports {
  public:
    OnThreadFailure reporter() {
        return [this](const ThreadFailure& failure) {
            EXPECT_FALSE(failure.thread.empty());
            if (failure.has_ended) has_ended_ = true;
            ++count_;
            throw std::bad_alloc();  // reporters log, which allocates
        };
    }
    int count() const { return count_; }
    bool has_ended() const { return has_ended_; }

  private:
    std::atomic<int> count_{0};
    std::atomic<bool> has_ended_{false};
};

TEST(ThreadFailure, OfTheLogLosesNoCount) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    auto writer = std::make_unique<LineWriter>(LineWriter::Options{
        .descriptor = pipe[1], .capacity = 4'096, .describe_dropped = [](std::uint64_t lines) {
            return std::string(100, 'x') + std::to_string(lines) + " dropped\n";
        }});
    std::string written;
    std::thread reader([&, in = pipe[0]] {
        char bytes[4'096];
        for (ssize_t got = 0; (got = ::read(in, bytes, sizeof bytes)) > 0;)
            written.append(bytes, static_cast<std::size_t>(got));
    });
    const std::string line = std::string(999, 'l') + "\n";
    const auto overflow = [&] {
        for (const std::uint64_t before = writer->dropped(); writer->dropped() == before;)
            writer->append(line);
        EXPECT_TRUE(writer->flush(60s));
    };
    const auto works = [&] {
        writer->append("end\n");
        return writer->flush(60s);
    };
    fail_allocations("sluice-log", overflow, works);
    EXPECT_GE(writer->failures(), 1U);
    overflow();
    EXPECT_TRUE(works());
    writer.reset();
    ::close(pipe[1]);
    reader.join();
    ::close(pipe[0]);
    EXPECT_NE(written.find(" dropped\n"), std::string::npos);
}

TEST(ThreadFailure, OfTheTracerCountsItsSpansAsDropped) {
    Reports reports;
    const auto tracer =
        trace::Tracer::start(
            {.collector = {.server = {.host = "127.0.0.1", .port = 1}, .path = "/v1/traces"},
             .one_in = 1,
             .interval = 5ms,
             .on_thread_failure = reports.reporter()})
            .value();
    std::uint64_t spans = 0;
    const auto send = [&] {
        tracer->begin("decision", "")->end();
        ++spans;
        EXPECT_TRUE(eventually([&] { return tracer->stats().dropped == spans; }));
    };
    fail_allocations("sluice-trace", send, [&] {
        send();
        return tracer->stats().dropped == spans;
    });
    EXPECT_GT(reports.count(), 0);
}

TEST(ThreadFailure, OfTheWatchOfRulesIsMadeUpFor) {
    const std::string path = testing::TempDir() + "sluice_rules_" + std::to_string(::getpid());
    std::ofstream(path) << "domain: a";
    Reports reports;
    std::atomic<int> changes{0};
    const auto watch = rls::RuleWatch::start(
                           path,
                           rls::fingerprint_of(path),
                           [&] {
                               const std::string rules(1'000, 'r');  // as a load allocates
                               changes += rules.empty() ? 0 : 1;
                           },
                           reports.reporter())
                           .value();
    int written = 0;
    const auto change = [&] {
        const int before = changes;
        std::ofstream(path) << "domain: " << std::string(static_cast<std::size_t>(++written), 'a');
        EXPECT_TRUE(eventually([&] { return changes > before; }));
    };
    fail_allocations("sluice-rules", change, [&] {
        change();
        return true;
    });
    EXPECT_GT(reports.count(), 0);
    std::filesystem::remove(path);
}

TEST(ThreadFailure, OfTheXdsClientEndsTheStreamOnly) {
    Reports reports;
    std::atomic<int> disconnects{0};
    const grpc::AdsClient client(
        {.host = "127.0.0.1",
         .port = 1,
         .discovery = {.node_id = "node", .type_url = "type.googleapis.com/x"},
         .first_delay = 1ms,
         .last_delay = 1ms,
         .on_thread_failure = reports.reporter()},
        {.resources = {.apply = [](auto) { return std::nullopt; }},
         .on_connected = {},
         .on_disconnected = [&](std::string_view) { ++disconnects; }});
    const auto attempts = [&] {
        const int before = disconnects;
        return eventually([&] { return disconnects >= before + 2; });
    };
    fail_allocations(
        "sluice-xds", [&] { EXPECT_TRUE(attempts()); }, attempts);
    EXPECT_GT(reports.count(), 0);
}

TEST(ThreadFailure, OfTheObserverSkipsPartOfASecond) {
    Reports reports;
    std::atomic<int> seconds{0};
    std::atomic<int> failures{0};
    insight::Observer observer({.seed = 1,
                                .read_status = [] { return insight::NodeStatus{}; },
                                .read_latency = [] { return insight::LatencyCounts{}; },
                                .on_second =
                                    [&] {
                                        const std::string event(1'000, 'e');
                                        seconds += event.empty() ? 0 : 1;
                                    },
                                .on_failure = [&](std::string_view) { ++failures; },
                                .on_thread_failure = reports.reporter()});
    observer.start();
    const auto next = [&] {
        const int before = seconds + failures;
        return eventually([&] { return seconds + failures > before; });
    };
    fail_allocations(
        "sluice-observer", [&] { EXPECT_TRUE(next()); }, next);
    EXPECT_GT(failures + reports.count(), 0);
}

TEST(ThreadFailure, OfOverridesFailsOneChange) {
    const auto set =
        overrides::OverrideSet::open(std::make_unique<overrides::MemoryStore>()).value();
    Reports reports;
    overrides::OverrideChanges changes(*set,
                                       {.interval = 1ms, .on_thread_failure = reports.reporter()});
    std::atomic<int> done{0};
    int asked = 0;
    const auto change = [&] {
        const std::string identifier = std::string(100, 'i') + std::to_string(++asked);
        EXPECT_TRUE(changes.set({.workspace = "w", .name_space = "n", .identifier = identifier},
                                {.limit = 5, .duration = 60s},
                                std::nullopt,
                                [&](const Result<std::string>&) { ++done; }));
        // The change is done, or its callback was destroyed with the failure.
        std::this_thread::sleep_for(20ms);
    };
    fail_allocations("sluice-override", change, [&] {
        const int before = done;
        change();
        return eventually([&] { return done > before; });
    });
}

class LimiterThreads : public testing::Test {
  protected:
    // Whether a request of a new key is decided, as all of them must be whatever has failed; there
    // may be no memory for its key. Its limit is used up, so that its count is published at once.
    static bool decides(Limiter& limiter) {
        static std::atomic<int> number{0};
        const std::string identifier = std::string(60, 'i') + std::to_string(++number);
        const auto decision = limiter.limit(
            {.name_space = "n", .identifier = identifier, .limit = 1, .duration = 60s});
        return decision ? decision->passed : decision.error().code == kOutOfMemory;
    }

    Reports reports_;
};

// What the region's thread had in hand may be in no queue any more.
TEST_F(LimiterThreads, TheOriginsEndsAndDecisionsAreLocal) {
    int ended = 0;
    for (int n = 1; n <= 64; n *= 2) {
        Reports reports;
        Options with_origin{.region = "eu",
                            .max_keys = 1'000,
                            .origin = "memory:thread-failure-" + std::to_string(n),
                            .on_thread_failure = reports.reporter()};
        Limiter limiter = Limiter::create(std::move(with_origin)).value();
        fail_allocation_of("sluice-region", n);
        for (int i = 0; i < 50 && !reports.has_ended(); ++i)
            EXPECT_TRUE(decides(limiter));
        stop_failing_threads();
        if (!reports.has_ended()) continue;
        ++ended;
        EXPECT_TRUE(eventually([&] { return limiter.stats().origin.unavailable; }));
        EXPECT_TRUE(decides(limiter));
        const auto began = std::chrono::steady_clock::now();
        limiter.close(60s);
        EXPECT_LT(std::chrono::steady_clock::now() - began, 30s) << "it does not wait for a flush";
    }
    EXPECT_GT(ended, 0);
}

// A call to the store that fails for lack of memory is repeated; elsewhere a change may be lost.
TEST_F(LimiterThreads, ThePublishersReportTheirEnd) {
    for (const char* const thread : {"sluice-publish", "sluice-changes"}) {
        int ended = 0;
        for (int n = 1; n <= 8; n *= 2) {
            Reports reports;
            Options with_store{
                .region = "eu",
                .max_keys = 1'000,
                .global = std::string("memory:thread-failure-") + thread + std::to_string(n),
                .on_thread_failure = reports.reporter()};
            Limiter limiter =
                create_limiter(std::move(with_store), {.global_interval = 20ms}).value();
            fail_allocation_of(thread, n);
            for (int i = 0; i < 200 && !reports.has_ended(); ++i) {
                EXPECT_TRUE(decides(limiter));
                std::this_thread::sleep_for(2ms);
            }
            stop_failing_threads();
            EXPECT_TRUE(decides(limiter));
            ended += reports.has_ended() ? 1 : 0;
        }
        EXPECT_GT(ended, 0) << thread;
    }
}

TEST_F(LimiterThreads, TheImportersAndTheBussGoOn) {
    const std::string store = "memory:thread-failure-go-on";
    Options here{.region = "eu",
                 .max_keys = 1'000,
                 .global = store,
                 .bus = store,
                 .on_thread_failure = reports_.reporter()};
    Limiter limiter = create_limiter(std::move(here), {.global_interval = 20ms}).value();
    Limiter other =
        create_limiter({.region = "us", .max_keys = 1'000, .global = store, .bus = store},
                       {.global_interval = 20ms})
            .value();
    const auto import = [&] {
        const std::uint64_t before = limiter.stats().global.rows_imported;
        return eventually(
            [&] { return decides(other) && limiter.stats().global.rows_imported > before; });
    };
    fail_allocations(
        "sluice-import", [&] { EXPECT_TRUE(import()); }, import);
    const auto announce = [&] {
        const std::uint64_t before = limiter.stats().bus.announcements_sent;
        return eventually(
            [&] { return decides(limiter) && limiter.stats().bus.announcements_sent > before; });
    };
    fail_allocations(
        "sluice-bus", [&] { EXPECT_TRUE(announce()); }, announce);
    EXPECT_FALSE(reports_.has_ended());
    EXPECT_GT(reports_.count(), 0);
}

TEST_F(LimiterThreads, TheFilesFailsACall) {
    const std::string path = testing::TempDir() + "sluice_counts_" + std::to_string(::getpid());
    {
        Options with_file{.region = "eu",
                          .max_keys = 1'000,
                          .origin = "sqlite:" + path,
                          .on_thread_failure = reports_.reporter()};
        Limiter limiter = Limiter::create(std::move(with_file)).value();
        const auto flush = [&] {
            const auto written = [&] {
                const OriginStats stats = limiter.stats().origin;
                return stats.spends + stats.flushed;
            };
            const std::uint64_t before = written();
            return eventually([&] { return decides(limiter) && written() > before; });
        };
        EXPECT_TRUE(flush());
        fail_allocations(
            "sluice-file", [&] { EXPECT_TRUE(flush()); }, flush);
        EXPECT_FALSE(reports_.has_ended());
    }
    for (const char* const suffix : {"", "-wal", "-shm"})
        std::filesystem::remove(path + suffix);
}

}  // namespace
}  // namespace sluice::stress
