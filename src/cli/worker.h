// One serving thread.
#ifndef SLUICE_CLI_WORKER_H_
#define SLUICE_CLI_WORKER_H_

#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <memory>

#include "config/settings.h"
#include "http/api/api.h"
#include "http/wire/listener.h"
#include "log/log.h"

namespace sluice::cli {

// A loop, a listener on the shared address and a handler of the API, all on a thread of their own.
// Controlled by the thread that made it; counters() may be called by any.
class Worker {
  public:
    struct Options {
        http::Listener::Options listener;
        Log& log;
        bool log_requests;
    };

    Worker(const http::ApiContext& context, Options options);

    // Ends the thread at once.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Binds, and accepts as soon as the thread runs.
    Result<std::uint16_t> listen(const http::ListenAddress& address);
    void run();

    // `drained` is called on the worker's thread.
    void drain(std::chrono::milliseconds patience, std::function<void()> drained);

    const http::WireCounters& counters() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_WORKER_H_
