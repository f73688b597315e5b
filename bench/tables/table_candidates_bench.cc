// table_candidates_bench: weighs tables against each other and prints the result as Markdown.
//
//     table_candidates_bench [--quick] [--rounds=N]
//
// Every measurement runs in a fresh process, and each round takes the candidates in a new random
// order, so that a change in the machine's load meets all of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include <unistd.h>

#include "measure/process.h"
#include "tables/contestants.h"

namespace sluice::bench {
namespace {

constexpr Sizes kQuick{.few = 1'000, .many = 20'000, .growth = 50'000};
constexpr std::array kTrials{Trial::kCount, Trial::kGrowth, Trial::kMemory};

// The arguments for a fresh copy of this program: --trial NUMBER CONTESTANT SIZE.
constexpr const char* kTrialFlag = "--trial";

struct Arguments {
    bool quick = false;
    int rounds = 3;
};

// For each contestant, for each trial, the rounds' numbers.
using Measured = std::map<std::pair<std::size_t, Trial>, std::vector<std::vector<double>>>;

void run_round(const Arguments& arguments,
               const std::vector<std::size_t>& order,
               Measured& measured) {
    for (const Trial trial : kTrials) {
        for (const std::size_t index : order) {
            std::cerr << "measuring " << contestants()[index].name << '\n';
            measured[{index, trial}].push_back(
                numbers_from_fresh_process({kTrialFlag,
                                            std::to_string(static_cast<int>(trial)),
                                            std::to_string(index),
                                            arguments.quick ? "quick" : "full"}));
        }
    }
}

Measured run_all(const Arguments& arguments) {
    std::vector<std::size_t> order(contestants().size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::mt19937 random(std::random_device{}());
    Measured measured;
    for (int round = 0; round < arguments.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        run_round(arguments, order, measured);
    }
    return measured;
}

// The smallest number at `place` in any round: whatever else the machine does can only add to it.
double best_at(const std::vector<std::vector<double>>& rounds, std::size_t place) {
    std::vector<double> numbers;
    for (const std::vector<double>& round : rounds) {
        if (place < round.size()) numbers.push_back(round[place]);
    }
    const auto best = std::min_element(numbers.begin(), numbers.end());
    return best == numbers.end() ? std::nan("") : *best;
}

void print_row(std::size_t index, Measured& measured) {
    const Contestant& contestant = contestants()[index];
    const auto number = [&](Trial trial, std::size_t place) {
        return best_at(measured[{index, trial}], place);
    };
    std::printf("| %s |", contestant.name.c_str());
    for (std::size_t place = 0; place < 5; ++place) {
        std::printf(" %.1f |", number(Trial::kCount, place));
    }
    std::printf(" %.0f |", number(Trial::kGrowth, 0) / 1'000);
    std::printf(" %.1f |", number(Trial::kGrowth, 1) / 1'000);
    std::printf(" %.0f | %s |\n", number(Trial::kMemory, 0), contestant.removal.c_str());
}

void print_table(Measured measured) {
    std::puts(
        "| table | 1,000 keys | 2 threads | 1,000,000 keys | 2 threads | one key, 2 threads | "
        "slowest insert, us | p99.99 insert, us | bytes per key | removal |\n"
        "|---|---|---|---|---|---|---|---|---|---|");
    for (std::size_t index = 0; index < contestants().size(); ++index) {
        print_row(index, measured);
    }
}

// A trial that takes longer than this is given up, and its figures are missing from the table.
constexpr unsigned kTimeoutSeconds = 120;

int run_trial(const std::vector<std::string>& arguments) {
    alarm(kTimeoutSeconds);
    const auto trial = static_cast<Trial>(std::stoi(arguments.at(1)));
    const Contestant& contestant = contestants().at(std::stoul(arguments.at(2)));
    const Sizes sizes = arguments.at(3) == "quick" ? kQuick : Sizes{};
    for (const double number : contestant.measure(trial, sizes)) {
        std::printf("%f\n", number);
    }
    std::fflush(stdout);
    std::_Exit(0);  // without waiting for millions of nodes to be freed
}

int run(const std::vector<std::string>& all) {
    if (!all.empty() && all.front() == kTrialFlag) return run_trial(all);
    Arguments arguments;
    for (const std::string& argument : all) {
        if (argument == "--quick") arguments.quick = true;
        if (argument.starts_with("--rounds=")) arguments.rounds = std::stoi(argument.substr(9));
    }
    print_table(run_all(arguments));
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
