// regional_bench: what bench/regional/run measures of the library, one trial per process.
//
//     regional_bench warm   ORIGIN THREADS MILLISECONDS       ORIGIN may be "none"
//     regional_bench hot    ORIGIN REQUESTS PER_SECOND
//     regional_bench flush  ORIGIN KEYS
//     regional_bench cold   ORIGIN KEYS OUTSTANDING COST
//     regional_bench commands
//
// Ends with 3 where Redis did not answer for a while, and the trial should be repeated.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "regional/trials.h"

namespace sluice::bench {
namespace {

int run_named(const std::vector<std::string>& words) {
    const auto number = [&](std::size_t index) { return std::stoul(words.at(index)); };
    const std::string& name = words.at(0);
    if (name == "commands") return print_commands();
    const std::string origin = words.at(1) == "none" ? "" : words.at(1);
    if (name == "warm") {
        const std::chrono::milliseconds length(number(3));
        return run(WarmTrial{.origin = origin, .threads = number(2), .length = length});
    }
    if (name == "hot")
        return run(HotTrial{.origin = origin, .requests = number(2), .per_second = number(3)});
    const auto keys = static_cast<std::uint32_t>(number(2));
    if (name == "flush") return run(FlushTrial{.origin = origin, .keys = keys});
    if (name != "cold") throw std::invalid_argument(name);
    return run(ColdTrial{.origin = origin,
                         .keys = keys,
                         .outstanding = static_cast<std::uint32_t>(number(3)),
                         .cost = static_cast<std::int64_t>(number(4))});
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    try {
        return sluice::bench::run_named({argv + 1, argv + argc});
    } catch (const std::exception& wrong) {
        std::cerr << "regional_bench: " << wrong.what() << "; bench/regional/run starts it\n";
        return 2;
    }
}
