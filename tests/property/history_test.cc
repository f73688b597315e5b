// Whole histories: a Limiter answers every call as the naive model does, field for field.
#include "model/history.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "model/history_decoder.h"
#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Record = std::array<std::uint8_t, kRecordBytes>;

bool differs(const History& history) {
    return first_difference(history).has_value();
}

std::string report(const History& history) {
    const History small = minimal(history, differs);
    return "a minimal history is\n" + to_text(small) +
           first_difference(small).value_or("not reproducible");
}

TEST(History, IsAnsweredLikeTheNaiveModelCallForCall) {
    constexpr std::uint64_t kSeeds = 10'000;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const History history = random_history(seed);
        ASSERT_FALSE(differs(history)) << "seed " << seed << ": " << report(history);
    }
}

// Unlike the fixed seeds above, this draws other histories each time. A failure prints how to
// repeat it.
RC_GTEST_PROP(History, IsAnsweredLikeTheNaiveModelWhateverIsDrawn, ()) {
    Bytes bytes(kHeaderBytes);
    bytes[0] = *rc::gen::inRange<std::uint8_t>(0, 255);
    bytes[1] = *rc::gen::inRange<std::uint8_t>(0, 16);
    const auto byte = rc::gen::cast<std::uint8_t>(rc::gen::inRange(0, 256));
    for (const Record& record :
         *rc::gen::container<std::vector<Record>>(rc::gen::container<Record>(byte))) {
        bytes.insert(bytes.end(), record.begin(), record.end());
    }
    const History history = decode_history(bytes);
    if (differs(history)) RC_FAIL(report(history));
}

// The largest numbers that are allowed, where a sum or a product in 64 bits would wrap around.
TEST(History, IsAnsweredExactlyWhereNumbersAreLargest) {
    constexpr std::int64_t kYear = 31'622'400'000;
    constexpr std::int64_t kBoundary = 50 * kYear;
    const auto single = [](std::int64_t now, std::int64_t limit, std::int64_t cost) {
        return Call{.now = now,
                    .kind = CallKind::kSingle,
                    .asks = {{.limit = limit, .duration = kYear, .cost = cost}}};
    };
    const Ask most{.limit = kMaxNumber, .duration = kYear, .cost = kMaxNumber};
    const History history{
        single(kBoundary - 1, kMaxNumber, kMaxNumber - 1),
        single(kBoundary - 1, kMaxNumber, 2),
        single(kBoundary - 1, kMaxNumber, 1),
        single(kBoundary - 1, kMaxNumber, 1),
        single(kBoundary, kMaxNumber, 1),
        single(kBoundary + 1, kMaxNumber, kMaxNumber),
        single(kBoundary + 1, kMaxNumber, kMaxNumber / kYear),
        single(kBoundary + 1, kMaxNumber, 1),
        single(kBoundary + kYear / 3, kMaxNumber - 1, kMaxNumber / 3),
        {.now = kBoundary + kYear, .kind = CallKind::kBatch, .asks = std::vector(100, most)},
        single(kBoundary + kYear - 1, 1, 0),
        single(kMaxNumber, kMaxNumber, kMaxNumber),
        single(kMaxNumber, kMaxNumber, kMaxNumber),
        single(0, kMaxNumber, 1)};
    EXPECT_FALSE(differs(history)) << report(history);
}

// An idle key comes back after every number of windows, among them some that a ring of cells or a
// counter of 16 bits would mistake for an earlier one.
TEST(History, IsAnsweredExactlyAfterIdleGapsOfAnyLength) {
    for (const std::int64_t gap :
         {1, 2, 3, 4, 5, 7, 8, 16, 255, 256, 257, 4'096, 65'535, 65'536, 65'537, 100'000}) {
        History history;
        std::int64_t now = 1'700'000'000'500;
        for (int visit = 0; visit < 6; ++visit, now += gap * 1'000) {
            for (const std::int64_t cost : {6, 3, 1, 1}) {
                history.push_back(
                    {.now = now, .kind = CallKind::kSingle, .asks = {{.limit = 10, .cost = cost}}});
            }
        }
        EXPECT_FALSE(differs(history)) << "gap " << gap << ": " << report(history);
    }
}

}  // namespace
}  // namespace sluice::model
