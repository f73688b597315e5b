#include "http/api/json_number.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

constexpr std::int64_t kMax = 9'007'199'254'740'991;

TEST(JsonNumber, IsJudgedByItsValueAndNotByItsSpelling) {
    for (const auto& [token, value] : {
             std::pair<std::string_view, std::int64_t>{"0", 0},
             {"-0", 0},
             {"-0.0", 0},
             {"0e999999999999999999999", 0},
             {"0.000e-5", 0},
             {"1", 1},
             {"-1", -1},
             {"1.0", 1},
             {"1.000000000000000000000000", 1},
             {"1e3", 1000},
             {"1E+3", 1000},
             {"1.5e1", 15},
             {"150e-1", 15},
             {"1000e-3", 1},
             {"0.001e3", 1},
             {"10.0", 10},
             {"120.50e1", 1205},
             {"9007199254740991", kMax},
             {"9007199254740991.0", kMax},
             {"900719925474099.1e1", kMax},
             {"0.9007199254740991e16", kMax},
             {"90071992547409910e-1", kMax},
             {"-9007199254740991", -kMax},
         }) {
        EXPECT_EQ(whole_number(token), value) << token;
    }
}

TEST(JsonNumber, FractionsAndWhatLiesBeyondTheLargestAreNone) {
    for (const std::string_view token : {"0.5",
                                         "-0.5",
                                         "1.5",
                                         "1e-1",
                                         "15e-1",
                                         "1e-400",
                                         "0.1e-99999999999999999999",
                                         "0.999999999999999999999",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "-9007199254740992",
                                         "9007199254740991.5",
                                         "1e16",
                                         "1e21",
                                         "1e+21",
                                         "1e400",
                                         "1e99999999999999999999",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "18446744073709551617",
                                         "99999999999999999999999999999999999999",
                                         "-1e400"}) {
        EXPECT_EQ(whole_number(token), std::nullopt) << token;
    }
}

TEST(JsonNumber, ZerosCanNotMakeUpForAHugeExponent) {
    const std::string zeros(1'000'000, '0');
    EXPECT_EQ(whole_number("1" + zeros + "e-1000000"), 1);
    EXPECT_EQ(whole_number("1" + zeros + "e-1000001"), std::nullopt);
    EXPECT_EQ(whole_number("1" + zeros + "e-9999999999"), std::nullopt);
    EXPECT_EQ(whole_number("0." + zeros + "1e1000001"), 1);
    EXPECT_EQ(whole_number("0." + zeros + "1e1000000"), std::nullopt);
}

// Writes the number out without an exponent and looks at its digits.
std::optional<std::int64_t> naive(bool negative,
                                  std::string whole,
                                  std::string fraction,
                                  int exponent) {
    for (; exponent > 0; --exponent) {
        whole += fraction.empty() ? '0' : fraction.front();
        if (!fraction.empty()) fraction.erase(0, 1);
    }
    for (; exponent < 0; ++exponent) {
        fraction.insert(0, 1, whole.empty() ? '0' : whole.back());
        if (!whole.empty()) whole.pop_back();
    }
    if (fraction.find_first_not_of('0') != std::string::npos) return std::nullopt;
    whole.erase(0, whole.find_first_not_of('0'));
    if (whole.empty()) return 0;
    const std::string most = std::to_string(kMax);
    if (whole.size() > most.size() || (whole.size() == most.size() && whole > most)) {
        return std::nullopt;
    }
    return negative ? -std::stoll(whole) : std::stoll(whole);
}

TEST(JsonNumber, AgreesWithWritingTheNumberOut) {
    std::mt19937 random(4);  // NOLINT: the same numbers in each run
    const auto digits = [&random](std::size_t most) {
        std::string text;
        for (std::size_t n = random() % (most + 1); n > 0; --n) {
            text += random() % 2 == 0 ? '0' : static_cast<char>('0' + random() % 10);
        }
        return text;
    };
    for (int i = 0; i < 200'000; ++i) {
        const bool negative = random() % 4 == 0;
        std::string whole = digits(18);
        whole.erase(0, whole.find_first_not_of('0'));
        if (whole.empty()) whole = "0";
        const std::string fraction = digits(6);
        const int exponent = random() % 2 == 0 ? 0 : static_cast<int>(random() % 40) - 20;
        std::string token = (negative ? "-" : "") + whole;
        if (!fraction.empty()) token += "." + fraction;
        if (exponent != 0) token += "e" + std::to_string(exponent);
        EXPECT_EQ(whole_number(token), naive(negative, whole, fraction, exponent)) << token;
    }
}

}  // namespace
}  // namespace sluice::http
