// Rules of the rate-limit service from a management server that speaks xDS.
#ifndef SLUICE_SERVER_RULE_SUBSCRIPTION_H_
#define SLUICE_SERVER_RULE_SUBSCRIPTION_H_

#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/thread.h"
#include "config/settings.h"
#include "grpc/client/ads_client.h"
#include "log/log.h"
#include "rls/rule_source.h"
#include "rls/rules.h"

namespace sluice::server {

// RuleSubscription applies each set of rules that the server sends. Invalid ones are refused, with
// the reason, and those before stay in force, as they do while there is no connection.
//
// Has a thread of its own. Thread-safe.
class RuleSubscription {
  public:
    // How long start() waits for the first rules of a server that accepts the connection.
    static constexpr std::chrono::milliseconds kFirstRules{3'000};

    // Requires that `settings.rules` is the URL of an xDS server. An error is about a setting. A
    // server that can't be reached is none: the subscription goes on trying. `source` and `log`
    // must outlive the subscription.
    static Result<std::unique_ptr<RuleSubscription>> start(const config::Settings& settings,
                                                           rls::RuleSource& source,
                                                           Log& log,
                                                           OnThreadFailure on_failure = {});

    void write_metrics(std::string& out) const;

  private:
    RuleSubscription(const config::Settings& settings,
                     grpc::AdsClient::Options options,
                     rls::RuleSource& source,
                     Log& log);

    std::optional<std::string> apply(std::span<const std::string_view> resources);
    void on_connected();
    void on_disconnected(std::string_view why);
    void note_first_result();

    const std::string url_;
    const rls::SameDomain same_domain_;
    rls::RuleSource& source_;
    Log& log_;
    // Written by the client's thread, read by any; relaxed, since they publish nothing.
    std::atomic<bool> is_connected_{false};
    std::atomic<std::uint64_t> disconnects_{0};
    // The client's thread's.
    std::optional<std::string> logged_why_;  // of the outage that goes on
    bool has_first_result_ = false;
    std::promise<void> first_result_;  // there are rules, or an attempt has failed
    grpc::AdsClient client_;           // destroyed first: its thread uses the others
};

// Checks the URL and the files of TLS, without a connection.
std::optional<Error> invalid_subscription(const config::Settings& settings);

// Subscribes until the first rules are there, for at most `timeout`.
Result<std::shared_ptr<const rls::RuleSet>> fetch_rules(const config::Settings& settings,
                                                        std::chrono::milliseconds timeout);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RULE_SUBSCRIPTION_H_
