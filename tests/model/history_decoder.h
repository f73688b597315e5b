// Turns any bytes into a history, so that fuzzers and random numbers can write histories.
#ifndef SLUICE_TESTS_MODEL_HISTORY_DECODER_H_
#define SLUICE_TESTS_MODEL_HISTORY_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/history.h"

namespace sluice::model {

// The bytes are a header of kHeaderBytes and any number of records of kRecordBytes; what is left
// over at the end is ignored. Each record is one ask.
//
//   header byte 0   bits 0-1: where time begins, 2-3: how many keys, 4: how many durations, 5-7:
//   which header byte 1   the usual limit record byte 0   bits 0-2: how it is asked, 3-5: the key,
//   6-7: the duration record byte 1   bits 0-3: how time moves, 4-7: the limit (mostly the usual
//   one) record byte 2   how far time moves record byte 3   bits 0-3: the cost, 4-7: what is not
//   valid record byte 4   detail of the limit or the cost; 255: something is not valid
//
// Values are few and close to each other, so that keys, windows and limits meet often.
inline constexpr std::size_t kHeaderBytes = 2;
inline constexpr std::size_t kRecordBytes = 5;

History decode_history(std::span<const std::uint8_t> bytes);

// The history that random bytes drawn from `seed` make: the same on every machine.
History random_history(std::uint64_t seed);

}  // namespace sluice::model

#endif  // SLUICE_TESTS_MODEL_HISTORY_DECODER_H_
