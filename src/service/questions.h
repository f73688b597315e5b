// Decisions that wait for fresher counts.
#ifndef SLUICE_SERVICE_QUESTIONS_H_
#define SLUICE_SERVICE_QUESTIONS_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counter/table.h"
#include "service/question.h"

namespace sluice {

// Where the time of a decision comes from: its caller, or (none) the system's clock when it is
// made.
using CallersClock = std::optional<UnixTime>;

// Both copy what they are given. The table must outlive them. If they throw, `later` was not moved
// from.
std::shared_ptr<Question> make_question(Table& table,
                                        const Request& request,
                                        CallersClock clock,
                                        Limiter::Later&& later);
// `stale` are the indices of those requests whose keys have to be read.
std::shared_ptr<Question> make_question(Table& table,
                                        std::span<const Request> requests,
                                        std::span<const std::size_t> stale,
                                        CallersClock clock,
                                        Limiter::LaterMany&& later);

}  // namespace sluice

#endif  // SLUICE_SERVICE_QUESTIONS_H_
