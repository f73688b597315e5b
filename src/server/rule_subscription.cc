#include "server/rule_subscription.h"

#include <system_error>
#include <utility>

#include "grpc/client/client_tls.h"
#include "metrics/text.h"
#include "rls/xds_rules.h"
#include "server/resources.h"
#include "url/xds_url.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;

// clang-format off
constexpr metrics::Name kConnected{"ratelimit_service_xds_connected", metrics::Type::kGauge,
    "1 while rules are received from their server, 0 while those before stay in force without it."};
constexpr metrics::Name kDisconnects{"ratelimit_service_xds_disconnects", metrics::Type::kCounter,
    "Connections to the server of the rules that ended or could not be made."};
// clang-format on

rls::SameDomain same_domain_of(const config::Settings& settings) {
    return settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse;
}

// The client for the settings, whose files of TLS can be read.
Result<grpc::AdsClient::Options> client_options(const config::Settings& settings) {
    const auto url = parse_xds_url(settings.rules);
    if (!url) return setting_error("rules", "\"" + settings.rules + "\"", url.error().message);
    grpc::AdsClient::Options options{.host = url->server.host,
                                     .port = url->server.port,
                                     .discovery = {.node_id = url->node,
                                                   .cluster = url->cluster,
                                                   .type_url = std::string(rls::kRuleConfigType)},
                                     .max_message = rls::kMaxRuleConfigBytes};
    if (!url->tls) return options;
    const config::RulesTlsSettings& tls = settings.rules_tls;
    options.tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key, .server_name = tls.server_name};
    if (const auto context = grpc::load_client_tls(*options.tls); !context)
        return setting_error("rules", "\"" + settings.rules + "\"", context.error().message);
    return options;
}

}  // namespace

Result<std::unique_ptr<RuleSubscription>> RuleSubscription::start(const config::Settings& settings,
                                                                  rls::RuleSource& source,
                                                                  Log& log,
                                                                  OnThreadFailure on_failure) try {
    auto options = client_options(settings);
    if (!options) return std::move(options).error();
    options->on_thread_failure = std::move(on_failure);
    std::unique_ptr<RuleSubscription> subscription(
        new RuleSubscription(settings, *std::move(options), source, log));
    subscription->first_result_.get_future().wait_for(kFirstRules);
    return subscription;
} catch (const std::system_error& refused) {
    return Error{kOutOfThreads,
                 std::string("the system refused a thread or a descriptor: ") + refused.what()};
}

RuleSubscription::RuleSubscription(const config::Settings& settings,
                                   grpc::AdsClient::Options options,
                                   rls::RuleSource& source,
                                   Log& log)
    : url_(settings.rules),
      same_domain_(same_domain_of(settings)),
      source_(source),
      log_(log),
      client_(std::move(options),
              {.resources = {.apply = [this](auto resources) { return apply(resources); },
                             .on_invalid =
                                 [this](const std::string& why) {
                                     source_.apply(Error{kInvalidOption, why}, url_);
                                     note_first_result();
                                 }},
               .on_connected = [this] { on_connected(); },
               .on_disconnected = [this](std::string_view why) { on_disconnected(why); }}) {}

std::optional<std::string> RuleSubscription::apply(std::span<const std::string_view> resources) {
    auto rules = rls::decode_rules(resources, same_domain_);
    std::optional<std::string> fault;
    if (!rules) fault = rules.error().message;
    source_.apply(std::move(rules), url_);
    note_first_result();
    return fault;
}

void RuleSubscription::on_connected() {
    is_connected_.store(true, std::memory_order_relaxed);
    logged_why_.reset();
    log_.info("xds_connected", {{"server", url_}});
}

// An attempt that fails as the one before did is not logged again.
void RuleSubscription::on_disconnected(std::string_view why) {
    is_connected_.store(false, std::memory_order_relaxed);
    disconnects_.fetch_add(1, std::memory_order_relaxed);
    if (logged_why_ != why) log_.warn("xds_unavailable", {{"server", url_}, {"why", why}});
    logged_why_ = why;
    note_first_result();
}

void RuleSubscription::note_first_result() {
    if (!std::exchange(has_first_result_, true)) first_result_.set_value();
}

void RuleSubscription::write_metrics(std::string& out) const {
    metrics::Text text(out);
    text.single(kConnected, is_connected_.load(std::memory_order_relaxed) ? 1 : 0);
    text.single(kDisconnects, disconnects_.load(std::memory_order_relaxed));
}

std::optional<Error> invalid_subscription(const config::Settings& settings) {
    auto options = client_options(settings);
    if (options) return std::nullopt;
    return std::move(options).error();
}

Result<std::shared_ptr<const rls::RuleSet>> fetch_rules(const config::Settings& settings,
                                                        milliseconds timeout) try {
    using Fetched = Result<std::shared_ptr<const rls::RuleSet>>;
    auto options = client_options(settings);
    if (!options) return std::move(options).error();
    std::promise<Fetched> first;
    bool has_first = false;
    const auto finish = [&](Fetched fetched) {
        if (!std::exchange(has_first, true)) first.set_value(std::move(fetched));
    };
    const grpc::AdsClient client(
        *std::move(options),
        {.resources = {.apply = [&](std::span<const std::string_view> resources)
                           -> std::optional<std::string> {
                           auto rules = rls::decode_rules(resources, same_domain_of(settings));
                           std::optional<std::string> fault;
                           if (!rules) fault = rules.error().message;
                           finish(std::move(rules));
                           return fault;
                       },
                       .on_invalid =
                           [&](const std::string& why) {
                               finish(Error{kInvalidOption, why});
                           }},
         .on_connected = {},
         .on_disconnected = [&](std::string_view why) {
             finish(Error{kStoreUnavailable, settings.rules + ": " + std::string(why)});
         }});
    auto fetched = first.get_future();
    if (fetched.wait_for(timeout) == std::future_status::ready) return fetched.get();
    return Error{kStoreUnavailable,
                 settings.rules + ": the server sent no rules for this node within " +
                     std::to_string(timeout.count()) + " ms"};
} catch (const std::system_error& refused) {
    return Error{kOutOfThreads,
                 std::string("the system refused a thread or a descriptor: ") + refused.what()};
}

}  // namespace sluice::server
