#include "cli/worker.h"

#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "cli/request_log.h"
#include "http/api/api.h"

namespace sluice::cli {

namespace asio = boost::asio;

class Worker::Core {
  public:
    Core(const http::ApiContext& context, Options options)
        : log_(options.log),
          work_(loop_.get_executor()),
          api_(with_hooks(context, options)),
          listener_(std::in_place, loop_, api_, std::move(options.listener)) {}

    ~Core() {
        loop_.stop();
        if (thread_.joinable()) thread_.join();
        // It closes its connections through the loop's sockets, so it goes before the loop.
        listener_.reset();
    }

    http::Listener& listener() { return *listener_; }
    asio::io_context& loop() { return loop_; }

    void run() {
        thread_ = std::thread([this] {
            while (!loop_.stopped())
                turn();
        });
    }

  private:
    http::ApiContext with_hooks(http::ApiContext context, const Options& options) {
        context.post = [this](std::function<void()> act) { asio::post(loop_, std::move(act)); };
        context.report = request_log(
            log_, options.log_requests ? RequestLines::kAll : RequestLines::kFailuresOnly);
        return context;
    }

    // A fault that gets here has left the thread half done: a listener that no longer accepts,
    // timers that no longer tick. Serving on would look alive and not be; the process ends, and
    // whoever watches it starts it anew.
    void turn() {
        try {
            loop_.run();
        } catch (const std::exception& error) {
            log_.error("worker_fault", {{"why", error.what()}});
            log_.flush();
            std::abort();
        }
    }

    Log& log_;
    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    http::Api api_;
    std::optional<http::Listener> listener_;
    std::thread thread_;
};

Worker::Worker(const http::ApiContext& context, Options options)
    : core_(std::make_unique<Core>(context, std::move(options))) {}

Worker::~Worker() = default;

Result<std::uint16_t> Worker::listen(const http::ListenAddress& address) {
    return core_->listener().listen(address);
}

void Worker::run() {
    core_->run();
}

void Worker::drain(std::chrono::milliseconds patience, std::function<void()> drained) {
    asio::post(core_->loop(), [this, patience, drained = std::move(drained)]() mutable {
        core_->listener().drain(patience, std::move(drained));
    });
}

const http::WireCounters& Worker::counters() const {
    return core_->listener().counters();
}

}  // namespace sluice::cli
