#include "rls/answer_options.h"

namespace sluice::rls {
namespace {

std::optional<LimitHeaders> headers_of(const config::LimitHeaderSettings& settings) {
    if (!settings.enabled) return std::nullopt;
    return LimitHeaders{
        .limit = settings.limit, .remaining = settings.remaining, .reset = settings.reset};
}

}  // namespace

AnswerOptions answer_options(const config::RlsSettings& settings) {
    const bool is_each = settings.counting == config::RlsSettings::Counting::kEach;
    return {.workspace = settings.workspace,
            .counting = is_each ? Counting::kEach : Counting::kAllOrNothing,
            .count_denied = settings.count_denied,
            .shadow_mode = settings.shadow_mode,
            .quota_mode = settings.quota_mode,
            .dynamic_metadata = settings.dynamic_metadata,
            .response_headers = headers_of(settings.response_headers),
            .request_headers = headers_of(settings.request_headers),
            .ietf_headers = settings.ietf_headers};
}

}  // namespace sluice::rls
