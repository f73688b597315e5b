#include "rls/decided_request.h"

#include <algorithm>

#include "base/utf8.h"

namespace sluice::rls {
namespace {

constexpr std::int64_t kMostOnWire = 4'294'967'295;

std::uint32_t on_wire(std::int64_t number) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kMostOnWire));
}

bool is_quota(const DecidedDescriptor& item, const AnswerOptions& options) {
    return options.quota_mode || (item.rule != nullptr && item.rule->quota_mode &&
                                  item.kind == DecidedDescriptor::Kind::kLimited);
}

void write_status(const DecidedDescriptor& item, UnixTime now, DescriptorStatus& status) {
    status.code = Code::kOk;
    if (item.kind != DecidedDescriptor::Kind::kLimited) {
        const bool is_unlimited = item.kind == DecidedDescriptor::Kind::kUnlimited;
        status.limit_remaining = is_unlimited ? kMostOnWire : 0;
        status.current_limit.reset();
        status.duration_until_reset.reset();
        return;
    }
    if (item.is_over() && !item.is_shadowed()) status.code = Code::kOverLimit;
    if (!status.current_limit) status.current_limit.emplace();
    status.current_limit->requests_per_unit = on_wire(item.limit);
    status.current_limit->unit = unit_of(item.duration);
    status.current_limit->name = item.rule == nullptr ? "" : std::string_view(item.rule->name);
    // Nothing, as in envoyproxy/ratelimit, also where fewer hits would have fitted.
    status.limit_remaining = item.is_over() ? 0 : on_wire(item.decision.remaining);
    status.duration_until_reset =
        std::max(std::chrono::ceil<std::chrono::seconds>(item.decision.reset_at - now),
                 std::chrono::seconds{0});
}

// Writes header fields over those of an earlier answer.
class HeaderWriter {
  public:
    explicit HeaderWriter(std::vector<HeaderValue>& headers) : headers_(headers) {}
    ~HeaderWriter() { headers_.resize(used_); }
    HeaderWriter(const HeaderWriter&) = delete;
    HeaderWriter& operator=(const HeaderWriter&) = delete;

    // The caller appends the value.
    std::string& add(std::string_view name) {
        if (used_ == headers_.size()) headers_.emplace_back();
        HeaderValue& header = headers_[used_++];
        header.key = name;
        header.value.clear();
        return header.value;
    }

  private:
    std::vector<HeaderValue>& headers_;
    std::size_t used_ = 0;
};

void add_headers(HeaderWriter& headers, const LimitHeaders& names, const DescriptorStatus& status) {
    headers.add(names.limit) += std::to_string(status.current_limit->requests_per_unit);
    headers.add(names.remaining) += std::to_string(status.limit_remaining);
    headers.add(names.reset) += std::to_string(status.duration_until_reset->count());
}

// The fields that answers over HTTP have, too.
void add_ietf_headers(HeaderWriter& headers,
                      const DescriptorStatus& status,
                      std::chrono::milliseconds window) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(window).count();
    std::string& policy = headers.add("RateLimit-Policy");
    policy.append("\"default\";q=").append(std::to_string(status.current_limit->requests_per_unit));
    policy.append(";w=").append(std::to_string(seconds));
    std::string& state = headers.add("RateLimit");
    state.append("\"default\";r=").append(std::to_string(status.limit_remaining));
    state.append(";t=").append(std::to_string(status.duration_until_reset->count()));
}

MetadataFields metadata_of(const RateLimitRequest& request, const Descriptor& descriptor) {
    MetadataValue::List entries;
    for (const DescriptorEntry& entry : request.entries_of(descriptor))
        entries.push_back({to_utf8(entry.key) + "=" + to_utf8(entry.value)});
    MetadataFields fields;
    fields.push_back({"entries", {std::move(entries)}});
    if (descriptor.limit) {
        fields.push_back(
            {"limit",
             {"requests_per_unit:" + std::to_string(descriptor.limit->requests_per_unit) +
              " unit:" + std::string(name_of(descriptor.limit->unit))}});
    }
    if (descriptor.hits_addend)
        fields.push_back({"hitsAddend", {static_cast<double>(*descriptor.hits_addend)}});
    return fields;
}

// The overall code, and the descriptor whose limit the header fields describe.
struct Summary {
    Code code = Code::kOk;
    std::optional<std::size_t> tightest = {};
};

// A limit denies if it is exceeded, quotas if all of them are. The tightest limit is the last one
// that denies, else the first with least left.
Summary summarise(std::span<const DecidedDescriptor> items,
                  std::span<const DescriptorStatus> statuses,
                  const AnswerOptions& options) {
    Summary summary;
    bool is_denied = false;
    std::size_t quotas = 0;
    std::size_t exhausted = 0;
    std::uint32_t least = kMostOnWire;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const DescriptorStatus& status = statuses[i];
        if (status.current_limit && status.limit_remaining < least) {
            least = status.limit_remaining;
            summary.tightest = i;
        }
        if (items[i].kind == DecidedDescriptor::Kind::kUnlimited) continue;
        const bool is_over = status.code == Code::kOverLimit;
        if (is_quota(items[i], options)) {
            ++quotas;
            exhausted += is_over ? 1U : 0U;
        } else if (is_over) {
            is_denied = true;
            least = 0;
            summary.tightest = i;
        }
    }
    if (is_denied || (quotas > 0 && quotas == exhausted)) summary.code = Code::kOverLimit;
    return summary;
}

void count_hits(const DecidedDescriptor& item, RuleWriter& writer) {
    if (item.kind != DecidedDescriptor::Kind::kLimited || item.series == nullptr) return;
    writer.count(*item.series,
                 {.hits = static_cast<std::uint64_t>(item.hits),
                  .limit = static_cast<std::uint64_t>(item.limit),
                  .remaining = static_cast<std::uint64_t>(item.decision.remaining),
                  .is_over = item.is_over(),
                  .is_shadowed = item.is_shadowed()});
}

}  // namespace

void DecidedDescriptor::clear() {
    std::string kept = std::move(identifier);
    kept.clear();
    *this = DecidedDescriptor{};
    identifier = std::move(kept);
}

Request DecidedRequest::request_of(const DecidedDescriptor& item,
                                   const AnswerOptions& options) const {
    return {.workspace = options.workspace,
            .name_space = domain,
            .identifier = item.identifier,
            .limit = item.limit,
            .duration = item.duration,
            .cost = method == Method::kCheck ? 0 : item.hits};
}

void DecidedRequest::enter(DecidedDescriptor& item,
                           const Result<Decision>& decision,
                           const AnswerOptions& options,
                           Limiter& limiter) {
    item.is_decided = true;
    if (!decision) {
        if (!error) error = decision.error();
        return;
    }
    item.decision = *decision;
    if (method == Method::kCheck) {
        item.decision.passed = decision->passed && decision->remaining >= item.hits;
        return;
    }
    item.is_spent = decision->passed || method == Method::kReport;
    const bool is_counted =
        (item.rule == nullptr ? std::nullopt : item.rule->count_denied)
            .value_or(options.count_denied && options.counting == Counting::kEach);
    if (item.is_spent || !is_counted || item.hits == 0) return;
    const auto debited = limiter.debit(request_of(item, options), now);
    if (!debited && !error) error = debited.error();
    item.is_spent = debited.has_value();
}

void DecidedRequest::enter_batch(std::span<const std::size_t> indices,
                                 const Result<BatchDecision>& decided,
                                 const AnswerOptions& options,
                                 Limiter& limiter) {
    if (!decided && !error) error = decided.error();
    for (std::size_t i = 0; i < indices.size() && decided; ++i) {
        DecidedDescriptor& item = items[indices[i]];
        enter(item, decided->decisions[i], options, limiter);
        // A descriptor that fits is spent only with the others.
        if (!decided->passed && decided->decisions[i].passed) item.is_spent = false;
    }
}

void DecidedRequest::write(RateLimitResponse& response,
                           const AnswerOptions& options,
                           RuleWriter& writer) const {
    response.statuses.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        write_status(items[i], now, response.statuses[i]);
        if (method != Method::kCheck) count_hits(items[i], writer);
    }
    response.dynamic_metadata.reset();
    HeaderWriter response_headers(response.response_headers_to_add);
    HeaderWriter request_headers(response.request_headers_to_add);
    const Summary summary = summarise(used(), response.statuses, options);
    response.overall_code = summary.code;
    if (summary.code == Code::kOverLimit && (options.shadow_mode || method == Method::kReport)) {
        response.overall_code = Code::kOk;
        if (options.shadow_mode) writer.note_global_shadow();
    }
    if (summary.tightest) {
        const DescriptorStatus& tightest = response.statuses[*summary.tightest];
        if (options.response_headers)
            add_headers(response_headers, *options.response_headers, tightest);
        if (options.ietf_headers) {
            add_ietf_headers(response_headers, tightest, items[*summary.tightest].duration);
        }
        if (options.request_headers)
            add_headers(request_headers, *options.request_headers, tightest);
    }
    if (metadata) write_metadata(response);
}

// Adds the metadata of the rules whose descriptors are OK.
void DecidedRequest::write_metadata(RateLimitResponse& response) const {
    response.dynamic_metadata = metadata;
    MetadataFields of_rules;
    for (std::size_t i = 0; i < count; ++i) {
        const LimitRule* const rule = items[i].rule;
        const bool applies = items[i].kind == DecidedDescriptor::Kind::kLimited;
        if (applies && rule != nullptr && rule->metadata && response.statuses[i].code == Code::kOk)
            merge(*rule->metadata, of_rules);
    }
    if (!of_rules.empty())
        response.dynamic_metadata->push_back({"metadata", {std::move(of_rules)}});
}

MetadataFields metadata_of(const RateLimitRequest& request) {
    MetadataValue::List descriptors;
    for (const Descriptor& descriptor : request.descriptors)
        descriptors.push_back({metadata_of(request, descriptor)});
    MetadataFields fields;
    fields.push_back({"domain", {to_utf8(request.domain)}});
    fields.push_back({"descriptors", {std::move(descriptors)}});
    if (request.hits_addend != 0)
        fields.push_back({"hitsAddend", {static_cast<double>(request.hits_addend)}});
    return fields;
}

}  // namespace sluice::rls
