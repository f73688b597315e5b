// global_bench: what bench/global/run measures of the global layer, one trial per process. Each
// prints its figures as one JSON object.
//
//     global_bench publish URL ROWS      a tick of so many rows that the store does not hold yet
//     global_bench sql ROWS              statements that do the same, for a client of the database
//     global_bench idle CELLS DIRTY      the processor time of a tick that has next to nothing to
//     do global_bench decide URL ROWS MS    warm decisions during ticks of so many rows, and
//     without global_bench import URL CELLS REGIONS PERCENT   a full import, and one after a few
//     changed
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "global/hot_table.h"
#include "global/memory_store.h"
#include "global/mysql/mysql_global_store.h"
#include "measure/process.h"
#include "measure/stalls.h"
#include "url/mysql_url.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

MysqlGlobalStore open(const std::string& url, const std::string& region) {
    auto parsed = parse_mysql_url(url);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return MysqlGlobalStore({.server = {.url = *std::move(parsed)}, .region = region});
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void spend_hot(HotTable& table, std::uint32_t rows) {
    for (std::uint32_t i = 0; i < rows; ++i)
        table.spend(2 * i, 1, HotTable::Use::kHot);
}

int publish(const std::string& url, std::uint32_t rows) {
    HotTable table(1'000'000);
    spend_hot(table, rows);
    MysqlGlobalStore store = open(url, "bench");
    static_cast<void>(store.list({}));  // connects
    table.offer();
    const auto begin = Clock::now();
    const std::size_t sent = table.tick(store);
    std::printf("{\"rows\": %zu, \"seconds\": %.6f}\n", sent, seconds_since(begin));
    return 0;
}

int print_sql(std::uint32_t rows) {
    const std::int64_t window = 3'600'000;
    const std::int64_t sequence = exact_wall_time().time_since_epoch().count() / window;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < rows; ++i)
        names.push_back(HotTable::identifier(2 * i));
    std::ranges::sort(names);
    for (std::size_t first = 0; first < names.size(); first += Publisher::kChunkRows) {
        const std::size_t count = std::min(names.size() - first, Publisher::kChunkRows);
        std::cout << "INSERT INTO ratelimit_window_counts (workspace_id, namespace, identifier, "
                     "duration_ms, sequence, region, count, expires_at, updated_at) VALUES ";
        for (std::size_t i = 0; i < count; ++i) {
            std::cout << (i == 0 ? "" : ",") << "('default','api','" << names[first + i] << "',"
                      << window << "," << sequence << ",'bench',51," << (sequence + 2) * window
                      << "," << sequence * window << ")";
        }
        std::cout << " ON DUPLICATE KEY UPDATE count = GREATEST(count, VALUES(count)), "
                     "updated_at = VALUES(updated_at);\n";
    }
    return 0;
}

// The table is full of cells; a few of them were spent since the last tick.
int idle(std::uint32_t cells, std::uint32_t dirty) {
    HotTable table(2 * cells);
    const auto world = MemoryWorld::create(exact_wall_time);
    const auto store = world->join("bench");
    table.spend(0, cells, HotTable::Use::kCold);
    table.offer();
    table.tick(*store);
    std::vector<double> took;
    for (int i = 0; i < 21; ++i) {
        table.spend(0, dirty, HotTable::Use::kCold);
        const double before = processor_seconds(Whose::kThread);
        table.offer();
        table.tick(*store);
        took.push_back(processor_seconds(Whose::kThread) - before);
    }
    std::ranges::sort(took);
    std::printf("{\"microseconds\": %.2f, \"slowest\": %.2f}\n",
                took[took.size() / 2] * 1e6,
                took.back() * 1e6);
    return 0;
}

// Decisions on one core, ticks on the other, which they share with the database.
int decide(const std::string& url, std::uint32_t rows, milliseconds length) {
    constexpr std::size_t kMost = 50'000'000;
    HotTable table(1'000'000);
    MysqlGlobalStore store = open(url, "bench");
    std::atomic<bool> is_ticking{false};
    std::atomic<bool> is_over{false};
    std::atomic<int> ticks{0};
    std::thread publisher([&] {
        pin_to_core(0);
        while (!is_over) {
            spend_hot(table, rows);  // the next of their cells: one more each
            for (std::uint32_t i = 0; i < rows; ++i)
                table.spend(2 * i + 1, 1, HotTable::Use::kHot);
            is_ticking = true;
            table.offer();
            table.tick(store);
            is_ticking = false;
            ++ticks;
            std::this_thread::sleep_for(milliseconds{50});
        }
    });
    pin_to_core(1);
    Durations with(kMost);
    Durations without(kMost);
    std::size_t counted[2] = {0, 0};
    const auto end = Clock::now() + length;
    for (std::uint32_t key = 0; Clock::now() < end; ++key) {
        const bool is_during = is_ticking.load(std::memory_order_relaxed);
        const auto begin = Clock::now();
        table.decide(key);
        const auto took = since(begin);
        if (counted[is_during] == kMost) continue;
        ++counted[is_during];
        (is_during ? with : without).add(took);
    }
    is_over = true;
    publisher.join();
    const Tail during = with.tail();
    const Tail quiet = without.tail();
    std::printf(
        "{\"ticks\": %d, \"during\": %zu, \"quiet\": %zu, \"during_p9999_us\": %.3f, "
        "\"quiet_p9999_us\": %.3f, \"during_p999_us\": %.3f, \"quiet_p999_us\": %.3f}\n",
        ticks.load(),
        counted[1],
        counted[0],
        during.p9999 / 1e3,
        quiet.p9999 / 1e3,
        during.p999 / 1e3,
        quiet.p999 / 1e3);
    return 0;
}

// Each cell has a row of one region, and every twentieth those of two, as in the fleet of
// sim/scenarios/design_fleet.toml.
int import(const std::string& url, std::uint32_t cells, std::uint32_t regions, double percent) {
    const Duration window{3'600'000};
    const Sequence sequence = instant_at(exact_wall_time(), window).sequence;
    const auto publish_as = [&](std::uint32_t region, std::uint32_t step, Count count) {
        std::vector<RegionCount> rows;
        for (std::uint32_t i = 0; i < cells; i += step) {
            const bool is_its_own = i % regions == region;
            const bool is_shared = i % 20 == 0 && (i + 1) % regions == region;
            if (!is_its_own && !is_shared) continue;
            rows.push_back({.cell = {.workspace = "default",
                                     .name_space = "api",
                                     .identifier = HotTable::identifier(i),
                                     .duration = window,
                                     .sequence = sequence},
                            .count = count});
        }
        MysqlGlobalStore store = open(url, "region_" + std::to_string(region));
        for (std::size_t first = 0; first < rows.size(); first += Publisher::kChunkRows) {
            const std::size_t count_now = std::min(rows.size() - first, Publisher::kChunkRows);
            const auto end =
                store.publish(std::span(rows).subspan(first, count_now), [](const RegionRow&) {});
            if (const auto* failed = std::get_if<StoreFailure>(&end))
                throw std::runtime_error(failed->why);
        }
    };
    for (std::uint32_t region = 0; region < regions; ++region)
        publish_as(region, 1, 60);
    MysqlGlobalStore store = open(url, "region_0");
    const auto read = [&](std::optional<UnixTime> since) {
        std::size_t rows = 0;
        std::optional<UnixTime> newest;
        const auto begin = Clock::now();
        std::optional<ImportQuery> page =
            ImportQuery{.living_at = exact_wall_time(), .changed_since = since};
        while (page) {
            const auto end = store.import(*page, [&](const RegionRow&) { ++rows; });
            if (const auto* failed = std::get_if<StoreFailure>(&end))
                throw std::runtime_error(failed->why);
            if (!newest) newest = std::get<ImportEnd>(end).newest;
            page = std::get<ImportEnd>(end).rest;
        }
        return std::tuple{rows, seconds_since(begin), newest};
    };
    const auto [all, all_seconds, newest] = read(std::nullopt);
    const auto step = static_cast<std::uint32_t>(100 / percent);
    for (std::uint32_t region = 0; region < regions; ++region)
        publish_as(region, step, 61);
    const auto [changed, changed_seconds, later] = read(*newest + milliseconds{1});
    std::printf(
        "{\"full\": %zu, \"full_seconds\": %.6f, \"changed\": %zu, "
        "\"changed_seconds\": %.6f}\n",
        all,
        all_seconds,
        changed,
        changed_seconds);
    return 0;
}

int run_named(const std::vector<std::string>& words) {
    const auto number = [&](std::size_t index) {
        return static_cast<std::uint32_t>(std::stoul(words.at(index)));
    };
    const std::string& name = words.at(0);
    if (name == "publish") return publish(words.at(1), number(2));
    if (name == "sql") return print_sql(number(1));
    if (name == "idle") return idle(number(1), number(2));
    if (name == "decide") return decide(words.at(1), number(2), milliseconds{number(3)});
    if (name != "import") throw std::invalid_argument(name);
    return import(words.at(1), number(2), number(3), std::stod(words.at(4)));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    try {
        return sluice::bench::run_named({argv + 1, argv + argc});
    } catch (const std::exception& wrong) {
        std::cerr << "global_bench: " << wrong.what() << "; bench/global/run starts it\n";
        return 2;
    }
}
