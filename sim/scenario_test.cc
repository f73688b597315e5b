// All scenarios keep their promises, with one seed and sanitizers; large fleets with fewer keys.
// sim/run_scenarios has more seeds.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/options.h"
#include "sim/run.h"

namespace sluice::sim {
namespace {

const std::string kFolder = std::string(SLUICE_REPOSITORY) + "/sim/scenarios/";

std::vector<std::string> scenarios() {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(kFolder))
        names.push_back(file.path().stem().string());
    std::ranges::sort(names);
    return names;
}

// The divisor of the number of keys of a large fleet, which keeps the test short.
std::uint32_t keys_divided_by(const std::string& name) {
    return name == "design_fleet" ? 10 : name == "design_fleet_tenfold" ? 50 : 1;
}

Options options_of(const std::string& name) {
    auto options = load_scenario(kFolder + name + ".toml");
    EXPECT_TRUE(options) << options.error().message;
    return *options;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, KeepsItsPromises) {
    Options options = options_of(GetParam());
    options.load.keys /= keys_divided_by(GetParam());
    const RunResult result = run(options);
    ASSERT_FALSE(result.failure) << "at " << seconds_text(result.failed_at) << ": "
                                 << *result.failure << "\nReplay it: sluice simulate sim/scenarios/"
                                 << GetParam() << ".toml --keys " << options.load.keys;
    EXPECT_GT(result.decisions, 1'000U);
    if (!options.faults.has(FaultKind::kClockStep)) {
        EXPECT_GT(result.checked_views, 0U);
    }
    const bool judges_windows = options.promise.most_window || options.promise.least_steady;
    EXPECT_TRUE(!judges_windows || result.fixed.windows != 0)
        << "no window has closed: it promises nothing";
}

INSTANTIATE_TEST_SUITE_P(All, Scenario, testing::ValuesIn(scenarios()), [](const auto& test) {
    return test.param;
});

std::string json_of(const Options& options) {
    std::ostringstream out;
    write_json(options, run(options), "", out);
    return out.str();
}

TEST(Scenarios, AreDeterminedByTheSeed) {
    Options options = options_of("everything");
    const std::string first = json_of(options);
    EXPECT_EQ(json_of(options), first);
    options.seed = 2;
    EXPECT_NE(json_of(options), first);
}

// These numbers are the same on every machine. A change of the algorithm may change them: check
// what it does to accuracy, and record the new ones.
TEST(Scenarios, DefaultGivesTheRecordedNumbers) {
    const RunResult result = run(default_scenario());
    EXPECT_FALSE(result.failure);
    EXPECT_EQ(result.decisions, 19996U);
    EXPECT_EQ(result.passed, 10821U);
}

TEST(Scenarios, FailWhenAPromiseIsBroken) {
    Options options = options_of("free_zone_3");
    options.promise.most_window = 1'500;
    EXPECT_NE(run(options).failure.value_or("").find("the promise is broken"), std::string::npos);
}

TEST(Scenarios, UnknownOptionIsAnErrorThatListsTheAllowedOnes) {
    Options options;
    EXPECT_NE(set_option("spread", "odd", options)->message.find("rotating"), std::string::npos);
    EXPECT_NE(set_option("colour", "red", options)->message.find("regions"), std::string::npos);
    options.nodes = 2;
    EXPECT_TRUE(check_options(options));
}

}  // namespace
}  // namespace sluice::sim
