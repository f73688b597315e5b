#include "sim/arrivals.h"

#include <algorithm>
#include <string>

namespace sluice::sim {
namespace {

constexpr Moment kRotation = std::chrono::seconds{5};
// The share of requests that go to the popular tenth of the keys.
constexpr Permille kPopular = 950;
constexpr std::size_t kLongName = 300;

}  // namespace

Arrivals::Arrivals(const Options& options, Truth& truth, std::uint64_t seed)
    : options_(options), load_(options.load), truth_(truth), random_(seed) {
    const Wide per_duration =
        std::max<Wide>(Wide{load_.keys} * load_.limit * load_.times, 1);  // a thousandfold
    const auto duration = static_cast<std::uint64_t>(Moment{load_.duration}.count());
    mean_ns_ = static_cast<std::uint64_t>(std::max<Wide>(Wide{duration} * 1'000 / per_duration, 1));
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < options.regions; ++i)
        zipf_.push_back(sum += 720'720 / (i + 1));
    next_ = load_.starts;
    draw();
}

// Uniform between 0 and twice the mean; or exponentially distributed, by von Neumann's method,
// which only compares uniform integers.
std::uint64_t Arrivals::gap(std::uint64_t mean) {
    if (!load_.is_poisson) return 1 + random_.below(2 * mean);
    for (std::uint64_t whole = 0;; ++whole) {
        const std::uint64_t first = random_.next();
        std::uint64_t last = first;
        bool is_odd = true;  // the length of the falling run so far
        for (std::uint64_t next = random_.next(); next < last; next = random_.next()) {
            last = next;
            is_odd = !is_odd;
        }
        if (!is_odd) continue;
        return 1 + whole * mean + static_cast<std::uint64_t>(Wide{first} * mean >> 64U);
    }
}

void Arrivals::draw() {
    const std::uint64_t mean = std::max<std::uint64_t>(mean_ns_ * 1'000 / burst, 1);
    next_ += Moment{gap(mean)};
    const KeyIndex key = choose_key();
    coming_ = {.region = choose_region(key),
               .key = key,
               .cost = cost(),
               .is_batch = random_.permille(load_.batches),
               .chance = random_.next()};
}

KeyIndex Arrivals::choose_key() {
    const std::uint32_t keys = load_.keys;
    const std::uint32_t popular = std::max<std::uint32_t>(keys / 10, 1);
    std::uint64_t key = 0;
    if (!load_.popular_keys || popular == keys) {
        key = random_.below(keys);
    } else if (random_.permille(kPopular)) {
        // The minimum of two draws favours the first keys.
        key = std::min(random_.below(popular), random_.below(popular));
    } else {
        key = popular + random_.below(keys - popular);
    }
    // With churn, the range of active keys moves forward over time.
    const auto gone = static_cast<std::uint64_t>(
        Wide{static_cast<std::uint64_t>(next_.count())} * keys * load_.churn / 1'000 /
        static_cast<std::uint64_t>(Moment{load_.duration}.count()));
    if (key < gone % keys) key += keys;
    key += gone / keys * keys;
    while (truth_.keys() <= key) {
        const auto number = static_cast<std::uint32_t>(truth_.keys());
        std::string name = "k" + std::to_string(number);
        if (random_.permille(load_.long_names)) name.append("-").append(kLongName, 'x');
        truth_.add_key(std::move(name), home_of(number));
    }
    return static_cast<KeyIndex>(key);
}

// Computed from the number: a lookup would dominate the cost of drawing.
std::uint32_t Arrivals::home_of(KeyIndex key) const {
    return key % options_.regions;
}

bool Arrivals::is_shared(KeyIndex key) const {
    return Random(key).permille(load_.overlap);
}

std::uint32_t Arrivals::choose_region(KeyIndex key) {
    const std::uint32_t home = home_of(key);
    switch (load_.spread) {
        case Spread::kEven:
            return static_cast<std::uint32_t>(random_.below(options_.regions));
        case Spread::kSingle:
            if (!is_shared(key) || random_.permille(500)) return home;
            return (home + 1) % options_.regions;
        case Spread::kZipf: {
            const std::uint64_t point = random_.below(zipf_.back());
            return static_cast<std::uint32_t>(std::ranges::upper_bound(zipf_, point) -
                                              zipf_.begin());
        }
        case Spread::kRotating:
            return static_cast<std::uint32_t>(next_ / kRotation + home) % options_.regions;
        case Spread::kSkewed:
            if (options_.regions == 1 || random_.permille(700)) return 0;
            return 1 + static_cast<std::uint32_t>(random_.below(options_.regions - 1));
    }
    return 0;
}

Count Arrivals::cost() {
    if (random_.permille(load_.peeks)) return 0;
    return load_.most_cost <= 1 ? 1 : 1 + random_.below(load_.most_cost);
}

Arrivals::Arrival Arrivals::take() {
    const Arrival arrival = coming_;
    draw();
    return arrival;
}

KeyIndex Arrivals::another_key(const Arrival& first) {
    return random_.permille(200) ? first.key : choose_key();
}

}  // namespace sluice::sim
