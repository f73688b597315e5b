// Concurrent writers, and calls that another thread interrupts.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/mariadb_server.h"
#include "support/store_client.h"

namespace sluice::mariadb_test {
namespace {

using namespace std::chrono_literals;
using global_test::cell_of;
using global_test::import_all;
using Kind = StoreFailure::Kind;

constexpr int kWriters = 30;
constexpr int kCells = 40;
constexpr Count kRounds = 15;

std::vector<RegionCount> rows_with(Count count) {
    std::vector<RegionCount> rows;
    for (int i = 0; i < kCells; ++i)
        rows.push_back({cell_of(std::to_string(100 + i)), count + static_cast<Count>(i)});
    return rows;
}

// Returns how often the store answered busy; -1 after any other failure.
int publish_all(const MysqlUrl& url, const std::string& region, int writer) {
    MysqlGlobalStore store(patient(url, region));
    int again = 0;
    for (Count round = 1; round <= kRounds; ++round) {
        auto rows = rows_with(round * kWriters + static_cast<Count>(writer));
        // In opposite orders, against the contract of the port, so that writers deadlock.
        if (writer % 2 == 1) std::reverse(rows.begin(), rows.end());
        while (const auto failure = global_test::try_publish(store, rows)) {
            if (failure->kind != Kind::kBusy) return -1;
            ++again;
        }
    }
    return again;
}

TEST(MysqlCrowd, WritersOfTheSameRowsInOppositeOrdersLoseNothing) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    std::atomic<int> again = 0;  // relaxed: the threads are joined before these are read
    std::atomic<int> failed = 0;
    std::vector<std::thread> writers;
    for (int writer = 0; writer < kWriters; ++writer) {
        writers.emplace_back([&, writer] {
            const int times = publish_all(url, writer < kWriters / 2 ? "eu" : "us", writer);
            if (times < 0) failed.fetch_add(1, std::memory_order_relaxed);
            again.fetch_add(std::max(times, 0), std::memory_order_relaxed);
        });
    }
    for (std::thread& writer : writers)
        writer.join();
    EXPECT_EQ(failed.load(std::memory_order_relaxed), 0);
    RecordProperty("tried_again", again.load(std::memory_order_relaxed));
    EXPECT_EQ(server.number("SELECT COUNT(*) FROM " + url.database + ".ratelimit_window_counts"),
              2 * kCells);
    MysqlGlobalStore store(patient(url, "eu"));
    const auto imported = import_all(store);
    const auto most = rows_with(kRounds * kWriters);
    for (const RegionCount& row : most) {
        EXPECT_EQ(imported.of(row.cell).at("eu"), row.count + kWriters / 2 - 1);
        EXPECT_EQ(imported.of(row.cell).at("us"), row.count + kWriters - 1);
    }
}

// The timeout is longer than the test.
TEST(MysqlInterrupt, EndsACallThatWaitsForAReply) {
    MariadbServer server;
    MysqlGlobalStore store(patient(server.make_store()));
    global_test::publish(store, "x", 1);
    server.pause();
    std::thread other([&] {
        std::this_thread::sleep_for(100ms);
        store.interrupt();
    });
    const StoreFailure failure = global_test::failure_of(store);
    other.join();
    EXPECT_EQ(failure.kind, Kind::kLost);
    EXPECT_NE(failure.why.find("ended from here"), std::string::npos) << failure.why;
    server.resume();
    EXPECT_EQ(global_test::failure_of(store).kind, Kind::kLost);
}

TEST(MysqlInterrupt, IsSafeAtAnyTime) {
    MariadbServer server({.tls = true});
    MysqlUrl url = server.make_store();
    for (int i = 0; i < 80; ++i) {
        url.tls = i % 2 == 0 ? MysqlTls::kDisabled : MysqlTls::kRequired;
        MysqlGlobalStore store(patient(url));
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(i * 100));
            store.interrupt();
        });
        const auto rows = rows_with(1);
        while (!global_test::try_publish(store, rows)) {
        }
        other.join();
        EXPECT_EQ(global_test::failure_of(store).kind, Kind::kLost);
    }
}

}  // namespace
}  // namespace sluice::mariadb_test
