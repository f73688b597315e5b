// The tables that are compared.
#ifndef SLUICE_BENCH_TABLES_CONTESTANTS_H_
#define SLUICE_BENCH_TABLES_CONTESTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

// How many keys the tables hold.
struct Sizes {
    std::uint32_t few = 1'000;
    std::uint32_t many = 1'000'000;
    std::uint32_t growth = 5'000'000;
};

// What a trial measures; see tables/trial.h.
enum class Trial { kCount, kGrowth, kMemory };

struct Contestant {
    std::string name;
    std::string removal;  // of a key while other threads look up

    // Runs the trial in this process.
    std::vector<double> (*measure)(Trial, const Sizes&);
};

const std::vector<Contestant>& contestants();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_CONTESTANTS_H_
