// What the two routes that decide have in common.
#ifndef SLUICE_HTTP_API_DECISION_ANSWER_H_
#define SLUICE_HTTP_API_DECISION_ANSWER_H_

#include <sluice/limiter.h>

#include "http/api/call.h"
#include "http/api/fields.h"
#include "http/api/json_writer.h"

namespace sluice::http {

// A request to the limiter and the override that applies to it, or null. The override's limit and
// duration stand in the request already.
struct Question {
    Request request;
    const overrides::Override* applied;
};

// The namespace is known from here on.
Question question_of(const Call& call, const Fields& fields);

// The status that a decision is answered with: 429 for a denial where the client prefers that, else
// 200. Begins the answer with it.
void begin_decision(Call& call, bool passed);

// Writes "limit", "remaining", "reset" and, where they exist, "retryAt" and "overrideId", without
// braces.
void write_decision(JsonWriter& json, const Decision& decision, const overrides::Override* applied);

// `source` tells whose counts it was made by.
void count_decision(const Call& call,
                    const Decision& decision,
                    const overrides::Override* applied,
                    metrics::Source source);

// Answers what the limiter could not decide.
void answer_undecided(Call& call, const Error& error);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_DECISION_ANSWER_H_
