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
    1'000, 1'001, 60'000, 1'500, 2'592'000'000, 86'400'000, 7'777, 3'600'000};

constexpr std::array<std::int64_t, 16> kLimits{
    10, 1, 2, 3, 4, 5, 7, 16, 20, 100, 999, 1'000'000, 0, kMaxNumber, kMaxNumber - 1, kMaxNumber / 2};

// What all records of a history have in common.
struct Header {
    std::int64_t start;
    unsigned key_mask;
    unsigned duration_mask;
    unsigned first_duration;
    std::int64_t usual_limit;
};

std::int64_t start_of_time(unsigned choice) {
    switch (choice % 4) {
        case 0: return 1'700'000'000'000;
        case 1: return 0;
        case 2: return 10'000;
        default: return kMaxNumber - 5'000'000;
    }
}

// How the clock moves between two calls, in terms of one window of the key that is asked for next.
class Clock {
  public:
    explicit Clock(std::int64_t start) : now_(start), latest_(start) {}

    std::int64_t now() const { return now_; }

    void move(unsigned manner, std::int64_t amount, std::int64_t duration) {
        const std::int64_t window = now_ / duration * duration;
        switch (manner) {
            case 0:
            case 1: break;
            case 2:
            case 13: now_ = latest_; break;
            case 3: now_ += 1; break;
            case 4: now_ += amount; break;
            case 5: now_ += amount * duration / 256; break;
            case 6: now_ = window + duration; break;
            case 7: now_ = window + duration - 1; break;
            case 8: now_ += duration * (1 + amount % 4); break;
            case 9: now_ += amount * duration / 64; break;
            case 10: now_ -= amount; break;
            case 11: now_ -= amount * duration / 256; break;
            case 12: now_ -= duration * (1 + amount % 4); break;
            case 14: now_ += (amount < 128 ? 1 : -1) * (amount % 128 + 1) * 782 * duration; break;
            default: now_ = amount < 250 ? window : amount < 253 ? 0 : kMaxNumber; break;
        }
        now_ = std::clamp<std::int64_t>(now_, 0, kMaxNumber);
        latest_ = std::max(latest_, now_);
    }

  private:
    std::int64_t now_;
    std::int64_t latest_;
};

Header header_of(std::span<const std::uint8_t> bytes) {
    constexpr std::array<unsigned, 4> kKeyMasks{0, 1, 3, kKeys - 1};
    return {.start = start_of_time(bytes[0]),
            .key_mask = kKeyMasks.at((bytes[0] >> 2U) % 4U),
            .duration_mask = (bytes[0] >> 4U) % 2U,
            .first_duration = (bytes[0] >> 5U) % 8U,
            .usual_limit = kLimits.at(bytes[1] % kLimits.size())};
}

std::int64_t limit_of(Record record, std::int64_t usual) {
    const unsigned choice = record[1] >> 4U;
    return choice < 10 ? usual : kLimits.at((choice + record[4]) % kLimits.size());
}

std::int64_t cost_of(Record record, std::int64_t limit) {
    const std::int64_t detail = record[4];
    switch (record[3] % 16U) {
        case 0:
        case 1:
        case 2:
        case 3: return 1;
        case 4: return 2;
        case 5: return 3;
        case 6:
        case 7: return 0;
        case 8: return limit;
        case 9: return std::max<std::int64_t>(limit - 1, 0);
        case 10: return std::min(limit + 1, kMaxNumber);
        case 11: return limit / 2;
        case 12: return limit / 256 * detail;
        case 13: return detail;
        case 14: return limit / 7;
        default: return detail < 250 ? limit / 3 : kMaxNumber;
    }
}

void spoil(Call& call, Ask& ask, unsigned manner) {
    switch (manner % 10) {
        case 0: ask.key = kNoKey; break;
        case 1: ask.limit = -1; break;
        case 2: ask.limit = kMaxNumber + 1; break;
        case 3: ask.cost = -1; break;
        case 4: ask.cost = kMaxNumber + 1; break;
        case 5: ask.duration = 999; break;
        case 6: ask.duration = 2'592'000'001; break;
        case 7: call.now = -1; break;
        case 8: call.now = kMaxNumber + 1; break;
        default: call.now = -call.now - 1; break;
    }
}

Ask ask_of(Record record, const Header& header) {
    Ask ask;
    ask.key = static_cast<int>((record[0] >> 3U) & header.key_mask);
    ask.duration = kDurations.at(((record[0] >> 6U & header.duration_mask) + header.first_duration) %
                                 kDurations.size());
    ask.limit = limit_of(record, header.usual_limit);
    ask.cost = cost_of(record, ask.limit);
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
            clock.move(record[1] % 16U, record[2], ask.duration);
            history.push_back({.now = clock.now(),
                               .kind = manner < 3 ? CallKind::kSingle : CallKind::kBatch,
                               .asks = {}});
        }
        if (record[4] == 255) spoil(history.back(), ask, record[3] >> 4U);
        history.back().asks.push_back(ask);
    }
    return history;
}

History random_history(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> bytes(kHeaderBytes + (1 + random() % kMaxRandomRecords) * kRecordBytes);
    std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<std::uint8_t>(random() >> 56U); });
    return decode_history(bytes);
}

}  // namespace sluice::model
