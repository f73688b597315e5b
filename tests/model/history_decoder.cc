#include "model/history_decoder.h"

#include <algorithm>
#include <random>
#include <vector>

#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

using Record = std::span<const std::uint8_t, kRecordBytes>;

constexpr std::size_t kMaxBatch = 100;
constexpr std::size_t kMaxRandomRecords = 80;

constexpr std::array<std::int64_t, 8> kDurations{
    1'000, 1'001, 60'000, 1'500, 31'622'400'000, 86'400'000, 7'777, 3'600'000};

constexpr std::array<std::int64_t, 16> kLimits{10,
                                               1,
                                               2,
                                               3,
                                               4,
                                               5,
                                               7,
                                               16,
                                               20,
                                               100,
                                               999,
                                               1'000'000,
                                               0,
                                               kMaxNumber,
                                               kMaxNumber - 1,
                                               kMaxNumber / 2};

// What all records of a history have in common.
struct Header {
    std::int64_t start;
    unsigned key_mask;
    unsigned duration_mask;
    unsigned first_duration;
    std::int64_t usual_limit;
};

constexpr std::array<std::int64_t, 4> kStarts{1'700'000'000'000, 0, 10'000, kMaxNumber - 5'000'000};

// Where the clock is, and what a move of it may depend on.
struct Moment {
    std::int64_t now;
    std::int64_t latest;    // the highest time that there was
    std::int64_t amount;    // 0 to 255
    std::int64_t duration;  // of the key that is asked for next

    std::int64_t window() const { return now / duration * duration; }
    std::int64_t some_windows() const { return duration * (1 + amount % 4); }
    std::int64_t many_windows() const { return duration * (1 + amount % 128) * 782; }
    std::int64_t part() const { return amount * duration / 256; }
};

// Each gives the time to which the clock moves. Standing still and coming back from the past are
// more frequent.
constexpr std::array<std::int64_t (*)(const Moment&), 16> kMoves{
    [](const Moment& m) { return m.now; },
    [](const Moment& m) { return m.now; },
    [](const Moment& m) { return m.latest; },
    [](const Moment& m) { return m.now + 1; },
    [](const Moment& m) { return m.now + m.amount; },
    [](const Moment& m) { return m.now + m.part(); },
    [](const Moment& m) { return m.window() + m.duration; },
    [](const Moment& m) { return m.window() + m.duration - 1; },
    [](const Moment& m) { return m.now + m.some_windows(); },
    [](const Moment& m) { return m.now + 4 * m.part(); },
    [](const Moment& m) { return m.now - m.amount; },
    [](const Moment& m) { return m.now - m.part(); },
    [](const Moment& m) { return m.now - m.some_windows(); },
    [](const Moment& m) { return m.latest; },
    [](const Moment& m) { return m.now + (m.amount < 128 ? 1 : -1) * m.many_windows(); },
    [](const Moment& m) { return m.amount < 250   ? m.window()
                                 : m.amount < 253 ? 0
                                                  : kMaxNumber; }};

class Clock {
  public:
    explicit Clock(std::int64_t start) : now_(start), latest_(start) {}

    std::int64_t now() const { return now_; }

    void move(std::size_t manner, std::int64_t amount, std::int64_t duration) {
        const Moment moment{.now = now_, .latest = latest_, .amount = amount, .duration = duration};
        now_ = std::clamp<std::int64_t>(kMoves.at(manner)(moment), 0, kMaxNumber);
        latest_ = std::max(latest_, now_);
    }

  private:
    std::int64_t now_;
    std::int64_t latest_;
};

// Each gives a cost in terms of the limit and of a number from 0 to 255.
struct Price {
    std::int64_t limit;
    std::int64_t detail;
};
constexpr std::array<std::int64_t (*)(const Price&), 16> kCosts{
    [](const Price&) { return std::int64_t{1}; },
    [](const Price&) { return std::int64_t{1}; },
    [](const Price&) { return std::int64_t{1}; },
    [](const Price&) { return std::int64_t{1}; },
    [](const Price&) { return std::int64_t{2}; },
    [](const Price&) { return std::int64_t{3}; },
    [](const Price&) { return std::int64_t{0}; },
    [](const Price&) { return std::int64_t{0}; },
    [](const Price& p) { return p.limit; },
    [](const Price& p) { return std::max<std::int64_t>(p.limit - 1, 0); },
    [](const Price& p) { return std::min(p.limit + 1, kMaxNumber); },
    [](const Price& p) { return p.limit / 2; },
    [](const Price& p) { return p.limit / 256 * p.detail; },
    [](const Price& p) { return p.detail; },
    [](const Price& p) { return p.limit / 7; },
    [](const Price& p) { return p.detail < 250 ? p.limit / 3 : kMaxNumber; }};

// Each puts something out of range.
constexpr std::array<void (*)(Call&, Ask&), 10> kFaults{
    [](Call&, Ask& ask) { ask.key = kNoKey; },
    [](Call&, Ask& ask) { ask.limit = -1; },
    [](Call&, Ask& ask) { ask.limit = kMaxNumber + 1; },
    [](Call&, Ask& ask) { ask.cost = -1; },
    [](Call&, Ask& ask) { ask.cost = kMaxNumber + 1; },
    [](Call&, Ask& ask) { ask.duration = 999; },
    [](Call&, Ask& ask) { ask.duration = 2'592'000'001; },
    [](Call& call, Ask&) { call.now = -1; },
    [](Call& call, Ask&) { call.now = kMaxNumber + 1; },
    [](Call& call, Ask&) { call.now = -call.now - 1; }};

Header header_of(std::span<const std::uint8_t> bytes) {
    constexpr std::array<unsigned, 4> kKeyMasks{0, 1, 3, kKeys - 1};
    return {.start = kStarts.at(bytes[0] % kStarts.size()),
            .key_mask = kKeyMasks.at((bytes[0] >> 2U) % 4U),
            .duration_mask = (bytes[0] >> 4U) % 2U,
            .first_duration = (bytes[0] >> 5U) % 8U,
            .usual_limit = kLimits.at(bytes[1] % kLimits.size())};
}

std::int64_t limit_of(Record record, std::int64_t usual) {
    const unsigned choice = record[1] >> 4U;
    return choice < 10 ? usual : kLimits.at((choice + record[4]) % kLimits.size());
}

Ask ask_of(Record record, const Header& header) {
    Ask ask;
    ask.key = static_cast<int>((record[0] >> 3U) & header.key_mask);
    ask.duration = kDurations.at(
        ((record[0] >> 6U & header.duration_mask) + header.first_duration) % kDurations.size());
    ask.limit = limit_of(record, header.usual_limit);
    ask.cost = kCosts.at(record[3] % kCosts.size())({.limit = ask.limit, .detail = record[4]});
    return ask;
}

}  // namespace

History decode_history(std::span<const std::uint8_t> bytes) {
    History history;
    if (bytes.size() < kHeaderBytes) return history;
    const Header header = header_of(bytes);
    Clock clock(header.start);

    for (auto rest = bytes.subspan(kHeaderBytes); rest.size() >= kRecordBytes;
         rest = rest.subspan(kRecordBytes)) {
        const Record record = rest.first<kRecordBytes>();
        Ask ask = ask_of(record, header);
        const unsigned manner = record[0] % 8U;
        const bool joins = manner >= 5 && !history.empty() &&
                           history.back().kind == CallKind::kBatch &&
                           history.back().asks.size() < kMaxBatch;
        if (!joins) {
            clock.move(record[1] % kMoves.size(), record[2], ask.duration);
            history.push_back({.now = clock.now(),
                               .kind = manner < 3 ? CallKind::kSingle : CallKind::kBatch,
                               .asks = {}});
        }
        if (record[4] == 255) kFaults.at((record[3] >> 4U) % kFaults.size())(history.back(), ask);
        history.back().asks.push_back(ask);
    }
    return history;
}

History random_history(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> bytes(kHeaderBytes +
                                    (1 + random() % kMaxRandomRecords) * kRecordBytes);
    std::generate(bytes.begin(), bytes.end(), [&random] {
        return static_cast<std::uint8_t>(random() >> 56U);
    });
    return decode_history(bytes);
}

}  // namespace sluice::model
