#include "server/worker.h"

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "http/api/request_report.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLongestText = 200;

// Clients choose these bytes: only visible ASCII enters the log.
std::string visible(std::string_view text) {
    std::string out(text.substr(0, kLongestText));
    for (char& c : out) {
        if (c <= ' ' || c > '~') c = '?';
    }
    return out;
}

void log_request(Log& log, const http::RequestReport& report) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(report.took);
    log.info("request",
             {{"request_id", report.request_id},
              {"method", visible(report.method)},
              {"path", visible(report.path)},
              {"status", report.status},
              {"outcome", report.outcome},
              {"workspace", visible(report.workspace)},
              {"namespace", visible(report.name_space)},
              {"peer", report.peer},
              {"microseconds", took.count()}});
}

// Logs each request that failed with status 500, with the cause; if `log_all`, also each request
// and each refusal. Headers, bodies and identifiers may hold secrets and are never logged.
http::ReportHooks request_log(Log& log, bool log_all) {
    http::ReportHooks hooks;
    hooks.on_failure = [&log](const http::FailureReport& report) {
        log.error("request_failed",
                  {{"request_id", report.request_id},
                   {"path", visible(report.path)},
                   {"cause", report.cause}});
    };
    if (!log_all) return hooks;
    hooks.on_request = [&log](const http::RequestReport& report) { log_request(log, report); };
    hooks.on_refusal = [&log](const http::RefusalReport& report) {
        log.info(
            "request_refused",
            {{"request_id", report.request_id}, {"status", report.status}, {"why", report.detail}});
    };
    return hooks;
}

}  // namespace

void log_observation_failure(Log& log, std::string_view why) {
    try {
        log.error("observation_failed", {{"why", why}});
    } catch (const std::exception&) {
        // There is no memory for the line either.
    }
}

Worker::Worker(const http::ApiContext& context, Options options)
    : log_(options.log),
      observer_(options.observer),
      on_failure_(std::move(options.on_thread_failure)),
      recorder_(context.role == http::ListenerRole::kPublic
                    ? std::make_unique<insight::Recorder>(observer_.activity().hash())
                    : nullptr),
      work_(loop_.get_executor()),
      collect_timer_(loop_),
      api_(with_hooks(context, options)),
      listener_(std::in_place, loop_, api_, std::move(options.listener)) {}

Worker::~Worker() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    // The listeners close their connections through the loop's sockets, so they go before the loop.
    grpc_.reset();
    listener_.reset();
}

Result<std::uint16_t> Worker::listen(const http::ListenAddress& address) {
    return listener_->listen(address);
}

Result<std::uint16_t> Worker::listen_grpc(const http::ListenAddress& address,
                                          GrpcEndpoint::Options options) {
    grpc_ = std::make_unique<GrpcEndpoint>(loop_, std::move(options));
    return grpc_->listen(address);
}

void Worker::run() {
    if (recorder_ != nullptr) collect_activity();
    // An exception that gets here leaves the listener and its timers in an unknown state.
    thread_ = start_thread(
        {.name = "sluice-worker", .on_failure = on_failure_, .after_failure = AfterFailure::kEnd},
        [this] {
            while (!loop_.stopped())
                loop_.run();
        });
}

bool Worker::responds() {
    if (!has_responded_.load(std::memory_order_acquire)) return false;
    has_responded_.store(false, std::memory_order_release);
    asio::post(loop_, [this] { has_responded_.store(true, std::memory_order_release); });
    return true;
}

void Worker::collect_activity() {
    collect_timer_.expires_at(observer_.next_second());
    collect_timer_.async_wait([this](const boost::system::error_code& cancelled) {
        if (cancelled) return;
        observe([this] { observer_.activity().collect(*recorder_); });
        collect_activity();
    });
}

void Worker::send_events() {
    asio::post(loop_, [this] { observe([this] { api_.send_events(); }); });
}

// A failure of monitoring does not stop the server: an exception, most likely std::bad_alloc, is
// logged.
void Worker::observe(const std::function<void()>& act) {
    try {
        act();
        has_failed_observing_ = false;
    } catch (const std::exception& error) {
        if (!std::exchange(has_failed_observing_, true))
            log_observation_failure(log_, error.what());
    }
}

void Worker::publish_health() {
    if (grpc_ == nullptr) return;
    asio::post(loop_, [this] { grpc_->publish_health(); });
}

void Worker::drain(std::chrono::milliseconds timeout, std::function<void()> drained) {
    asio::post(loop_, [this, timeout, drained = std::move(drained)]() mutable {
        draining_ = grpc_ == nullptr ? 1 : 2;
        const auto one_drained = [this, drained = std::move(drained)] {
            if (--draining_ == 0) drained();
        };
        if (grpc_ != nullptr) grpc_->drain(timeout, one_drained);
        listener_->drain(timeout, one_drained);
    });
}

http::ApiContext Worker::with_hooks(http::ApiContext context, const Options& options) {
    context.post = [this](std::function<void()> act) { asio::post(loop_, std::move(act)); };
    context.report = request_log(log_, options.log_requests);
    context.recorder = recorder_.get();
    return context;
}

}  // namespace sluice::server
