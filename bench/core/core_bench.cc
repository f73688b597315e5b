// core_bench: what a decision costs, beside the least that it could cost.
//
//     core_bench [--quick] [--json=PATH] [any flag of Google Benchmark]
//     core_bench --growth-delay
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/report.h"
#include "core/suite.h"

namespace sluice::bench {
namespace {

constexpr const char* kDefaultJson = "build/bench/core.json";
constexpr const char* kJsonFlag = "--json=";

struct Arguments {
    Size size = Size::kFull;
    std::string json = kDefaultJson;
    std::vector<std::string> for_google_benchmark;
};

Arguments parse(int argc, char** argv) {
    Arguments parsed;
    for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
        if (argument == "--quick") {
            parsed.size = Size::kQuick;
        } else if (argument.starts_with(kJsonFlag)) {
            parsed.json = argument.substr(std::string(kJsonFlag).size());
        } else {
            parsed.for_google_benchmark.push_back(argument);
        }
    }
    return parsed;
}

// The defaults come first, because the last occurrence of a flag wins.
std::vector<std::string> google_benchmark_flags(const Arguments& arguments) {
    const bool full = arguments.size == Size::kFull;
    std::vector<std::string> flags{
        "core_bench",
        "--benchmark_enable_random_interleaving=true",
        full ? "--benchmark_repetitions=5" : "--benchmark_repetitions=1",
        full ? "--benchmark_min_time=0.4" : "--benchmark_min_time=0.02",
        "--benchmark_out_format=json",
        "--benchmark_out=" + arguments.json,
    };
    flags.insert(
        flags.end(), arguments.for_google_benchmark.begin(), arguments.for_google_benchmark.end());
    return flags;
}

// False where a flag is unknown; Google Benchmark has then said which. It keeps a pointer to the
// first.
bool initialize(std::vector<std::string>& flags) {
    std::vector<char*> argv;
    argv.reserve(flags.size());
    for (std::string& flag : flags) {
        argv.push_back(flag.data());
    }
    int argc = static_cast<int>(argv.size());
    benchmark::Initialize(&argc, argv.data());
    return !benchmark::ReportUnrecognizedArguments(argc, argv.data());
}

int run(const Arguments& arguments) {
    const std::filesystem::path folder = std::filesystem::path(arguments.json).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    std::vector<std::string> flags = google_benchmark_flags(arguments);
    if (!initialize(flags)) return 2;
    register_floor();
    register_decide();
    register_batch();
    register_insight();
    register_growth(arguments.size);
    register_memory();
    Figures figures;
    benchmark::RunSpecifiedBenchmarks(&figures);
    end_progress();
    print_report(figures, std::cout);
    std::cout << "All figures: " << arguments.json << '\n';
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == sluice::bench::kMeasureMemory) {
        return sluice::bench::measure_memory();
    }
    if (argc == 2 && std::string(argv[1]) == sluice::bench::kMeasureGrowth) {
        return sluice::bench::measure_growth();
    }
    return sluice::bench::run(sluice::bench::parse(argc, argv));
}
