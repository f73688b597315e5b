// A request of the rate-limit service while it is decided, and its answer.
#ifndef SLUICE_RLS_DECIDED_REQUEST_H_
#define SLUICE_RLS_DECIDED_REQUEST_H_

#include <sluice/limiter.h>
#include <sluice/result.h>
#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rls/answer_options.h"
#include "rls/messages.h"
#include "rls/rule_metrics.h"

namespace sluice::rls {

enum class Method { kShouldRateLimit, kCheck, kReport };

// One descriptor: the limit that applies to it, and the decision.
struct DecidedDescriptor {
    enum class Kind {
        kUnlimited,  // by its rule
        kNoLimit,    // no rule, or one that another rule replaces
        kLimited,
    };
    Kind kind = Kind::kNoLimit;
    const LimitRule* rule = nullptr;  // null: none, or a limit of the client
    RuleSeries* series = nullptr;     // null: not counted
    // Keeps the series while the answer waits; null: the rules in force and the writer do.
    std::shared_ptr<RuleSeries> kept_series = {};
    std::string identifier = {};
    std::int64_t limit = 0;
    std::chrono::milliseconds duration{};
    std::int64_t hits = 0;

    bool is_decided = false;
    bool is_spent = false;  // the hits were added to the counts
    Decision decision{};

    // Forgets everything but the memory of the identifier.
    void clear();
    bool is_shadowed() const { return rule != nullptr && rule->shadow_mode; }
    bool is_over() const { return kind == Kind::kLimited && !decision.passed; }
};

// All descriptors of a request. Holds no reference to the request itself.
//
// Thread-compatible.
struct DecidedRequest {
    Method method = Method::kShouldRateLimit;
    UnixTime now{};
    std::shared_ptr<const ActiveRules> rules =
        {};  // keeps those of the items; null: their user does
    std::string domain = {};
    std::size_t count = 0;  // of items in use
    std::vector<DecidedDescriptor> items = {};
    std::optional<MetadataFields> metadata = {};  // of the answer, without that of the rules
    std::optional<Error> error = {};

    std::span<DecidedDescriptor> used() { return std::span(items).first(count); }
    std::span<const DecidedDescriptor> used() const { return std::span(items).first(count); }

    // The request to the limiter for an item. A check asks with a cost of 0.
    Request request_of(const DecidedDescriptor& item, const AnswerOptions& options) const;

    // Enters the limiter's decision about an item. If the hits were denied and have to be counted
    // all the same, they are debited.
    void enter(DecidedDescriptor& item,
               const Result<Decision>& decision,
               const AnswerOptions& options,
               Limiter& limiter);

    // The same for items that were decided together.
    void enter_batch(std::span<const std::size_t> indices,
                     const Result<BatchDecision>& decided,
                     const AnswerOptions& options,
                     Limiter& limiter);

    // Writes the answer, once all items are decided, and counts it. The memory of an answer that
    // `response` held before is reused.
    void write(RateLimitResponse& response, const AnswerOptions& options, RuleWriter& writer) const;

  private:
    void write_metadata(RateLimitResponse& response) const;
};

// The metadata of a request: its domain, its descriptors and its hits. A Struct has texts in UTF-8,
// so other bytes are replaced.
MetadataFields metadata_of(const RateLimitRequest& request);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_DECIDED_REQUEST_H_
