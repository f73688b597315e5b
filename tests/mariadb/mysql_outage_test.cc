// The store against servers that crash, hang, restart and lose their data.
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
using global_test::failure_of;
using global_test::import_all;
using global_test::publish;
using Kind = StoreFailure::Kind;

std::vector<RegionCount> many_rows(Count count, int rows) {
    std::vector<RegionCount> made;
    for (int i = 0; i < rows; ++i)
        made.push_back({cell_of(std::string(200, 'x') + std::to_string(100'000 + i)), count});
    return made;
}

TEST(MysqlOutage, AServerKilledDuringAPublishHasAllOfItOrNothing) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    MysqlGlobalStore store(patient(url));
    publish(store, many_rows(1, 500));
    std::atomic<Count> acknowledged = 1;  // written by the publisher, read when it has ended
    std::atomic<Kind> ended_with = Kind::kBusy;
    std::thread publisher([&] {
        for (Count count = 2;; ++count) {
            const auto failure = global_test::try_publish(store, many_rows(count, 500));
            if (failure) return ended_with.store(failure->kind);
            acknowledged.store(count);
        }
    });
    while (acknowledged.load() < 5)
        std::this_thread::sleep_for(1ms);
    server.kill();
    publisher.join();
    EXPECT_EQ(ended_with.load(), Kind::kLost);
    EXPECT_EQ(failure_of(store).kind, Kind::kLost);
    server.start();
    const auto imported = import_all(store);
    ASSERT_EQ(imported.cells.size(), 500U);
    const Count held = imported.cells.begin()->second.at("eu");
    EXPECT_GE(held, acknowledged.load());
    EXPECT_LE(held, acknowledged.load() + 1);
    for (const auto& [cell, components] : imported.cells)
        EXPECT_EQ(components.at("eu"), held);
}

// More than the buffers of the connection hold.
TEST(MysqlOutage, AnImportFailsIfTheServerIsKilledDuringIt) {
    MariadbServer server;
    MysqlGlobalStore store(patient(server.make_store()));
    for (int i = 0; i < 20; ++i) {
        auto rows = many_rows(1, 2'000);
        for (RegionCount& row : rows)
            row.cell.sequence = 10 + i;
        publish(store, rows);
    }
    std::size_t visits = 0;
    const auto visit = [&](const RegionRow&) {
        if (++visits == 1) server.kill();
    };
    const auto end = store.import({.living_at = {}, .page_rows = 1'000'000}, visit);
    ASSERT_TRUE(std::holds_alternative<StoreFailure>(end)) << visits;
    EXPECT_EQ(std::get<StoreFailure>(end).kind, Kind::kLost);
    EXPECT_LT(visits, 40'000U);
    server.start();
    EXPECT_EQ(import_all(store).visits, 40'000U);
}

TEST(MysqlOutage, ACallToAServerThatHangsTimesOut) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    const MysqlGlobalOptions hasty{
        .server = {.url = url, .connect_timeout = 1s, .answer_timeout = 1s}, .region = "eu"};
    MysqlGlobalStore connected(hasty);
    publish(connected, "x", 1);
    server.pause();
    EXPECT_EQ(failure_of(connected).kind, Kind::kLost);
    EXPECT_EQ(failure_of(connected).kind, Kind::kLost) << "the kernel still takes connections";
    MysqlGlobalStore fresh(hasty);
    EXPECT_EQ(failure_of(fresh).kind, Kind::kLost);
    MysqlGlobalOptions hasty_at_first = hasty;
    hasty_at_first.server.answer_timeout = kVeryLong;
    MysqlGlobalStore greeted(hasty_at_first);
    EXPECT_EQ(failure_of(greeted).kind, Kind::kLost) << "a greeting is part of connecting";
    server.resume();
    publish(connected, "x", 2);
    publish(fresh, "x", 3);
    EXPECT_EQ(import_all(fresh).of("x").at("eu"), 3U);
}

TEST(MysqlOutage, ReconnectsAfterTheServerClosedTheConnection) {
    MariadbServer server;
    MysqlGlobalStore store(patient(server.make_store()));
    publish(store, "x", 1);
    for (const auto& row : server.rows("SELECT id FROM information_schema.processlist WHERE user = "
                                       "'alice'"))
        server.run("KILL CONNECTION " + row.at(0));
    EXPECT_EQ(failure_of(store).kind, Kind::kLost);
    publish(store, "x", 2);
    EXPECT_EQ(import_all(store).of("x").at("eu"), 2U);
}

TEST(MysqlOutage, ACallWithoutRowsDetectsALostConnection) {
    MariadbServer server;
    MysqlGlobalStore store(patient(server.make_store()));
    EXPECT_EQ(store.connections(), 0U);
    publish(store, "x", 1);
    EXPECT_FALSE(global_test::try_publish(store, {}));
    EXPECT_EQ(store.connections(), 1U);
    server.kill();
    server.start();
    const auto failure = global_test::try_publish(store, {});
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::kLost);
    EXPECT_EQ(store.connections(), 1U);
    EXPECT_FALSE(global_test::try_publish(store, {}));
    EXPECT_EQ(store.connections(), 2U);
}

TEST(MysqlOutage, AServerThatLostItsTablesIsRejectedUntilItIsMigrated) {
    MariadbServer server;
    const MysqlUrl url = server.make_store();
    MysqlGlobalStore store(patient(url));
    publish(store, "x", 1);
    server.restart_empty();
    EXPECT_EQ(failure_of(store).kind, Kind::kLost);
    EXPECT_EQ(failure_of(store).kind, Kind::kRefused);
    server.run("CREATE DATABASE " + url.database);
    const StoreFailure failure = failure_of(store);
    EXPECT_EQ(failure.kind, Kind::kRefused);
    EXPECT_NE(failure.why.find("sluice migrate"), std::string::npos) << failure.why;
}

}  // namespace
}  // namespace sluice::mariadb_test
