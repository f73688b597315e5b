// An adapter for Boost.Asio: `co_await async_limit(...)` in a coroutine, or any other completion
// token. The handler runs on its own executor, whichever thread made the decision.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// The request's texts must stay valid until this returns; `co_await` sees to that.
template <class Token>
auto async_limit(sluice::Limiter& limiter, const sluice::Request& request, Token&& token) {
    return asio::async_initiate<Token, void(sluice::Result<sluice::Decision>)>(
        [&limiter](auto handler, const sluice::Request& wanted) {
            auto work = asio::make_work_guard(asio::get_associated_executor(handler));
            limiter.limit_async(
                wanted,
                [handler = std::move(handler), work = std::move(work)](auto decision) mutable {
                    asio::dispatch(
                        work.get_executor(),
                        [handler = std::move(handler), decision = std::move(decision)]() mutable {
                            std::move(handler)(std::move(decision));
                        });
                });
        },
        token,
        request);
}

asio::awaitable<void> make_requests(sluice::Limiter& limiter) {
    const sluice::Rule rule{.name_space = "downloads", .limit = 3, .duration = 60s};
    for (int i = 1; i <= 4; ++i) {
        const auto decision =
            co_await async_limit(limiter, rule.request("alice"), asio::use_awaitable);
        std::cout << "request " << i << ": " << (decision && decision->passed ? "pass" : "deny")
                  << '\n';
    }
}

}  // namespace

int main() {
    auto limiter = sluice::Limiter::create({.origin = "memory:coroutines"});
    if (!limiter) return EXIT_FAILURE;
    asio::io_context loop;
    asio::co_spawn(loop, make_requests(*limiter), [](const std::exception_ptr& failure) {
        if (failure) std::rethrow_exception(failure);
    });
    loop.run();
    limiter->close(1s);
}
