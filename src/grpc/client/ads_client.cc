#include "grpc/client/ads_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/random.h"
#include "grpc/client/client_socket.h"

namespace sluice::grpc {

namespace {

constexpr std::string_view kPath =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Ready = ClientSocket::Ready;

int create_event() {
    const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return event;
}

// A connection that the server has closed is an error of a write, not a signal.
void block_broken_pipes() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// Many servers end a stream without a message.
std::string text_of(const Status& end) {
    return "the stream ended with status " + std::to_string(static_cast<std::uint32_t>(end.code)) +
           (end.message.empty() ? "" : ": " + end.message);
}

}  // namespace

AdsClient::AdsClient(Options options, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      discovery_(options_.discovery, events_.resources),
      jitter_(system_random()),
      stop_event_(create_event()) {
    try {
        const auto on_failure = [this](const ThreadFailure& failure) {
            if (options_.on_thread_failure) options_.on_thread_failure(failure);
            if (events_.on_disconnected) events_.on_disconnected(failure.why);
        };
        thread_ = start_thread({.name = "sluice-xds", .on_failure = on_failure}, [this] { run(); });
    } catch (...) {
        close(stop_event_);
        throw;
    }
}

AdsClient::~AdsClient() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof(one));
    thread_.join();
    close(stop_event_);
}

void AdsClient::run() {
    block_broken_pipes();
    milliseconds delay = options_.first_delay;
    while (!is_stopped(milliseconds::zero())) {
        is_announced_ = false;
        const auto began = Clock::now();
        const std::string why = stream();
        if (is_stopped(milliseconds::zero())) return;
        if (events_.on_disconnected) events_.on_disconnected(why);
        // A server that ends each stream at once is not called more often for that.
        if (is_announced_ && Clock::now() - began > options_.last_delay)
            delay = options_.first_delay;
        if (is_stopped(jitter_.up_to(delay))) return;
        delay = std::min(2 * delay, options_.last_delay);
    }
}

bool AdsClient::is_stopped(milliseconds wait) const {
    pollfd polled{stop_event_, POLLIN, 0};
    return poll(&polled, 1, static_cast<int>(wait.count())) > 0;
}

// Runs one stream to its end; returns why it has ended.
std::string AdsClient::stream() {
    ClientSocket socket(stop_event_);
    std::string why = socket.connect(options_.host, options_.port, options_.connect_timeout);
    if (why.empty() && options_.tls)
        why = socket.start_tls(*options_.tls, options_.host, options_.connect_timeout);
    if (!why.empty()) return why;
    const bool is_six = options_.host.find(':') != std::string::npos;
    newest_.reset();
    ClientSession session(
        {.scheme = options_.tls ? "https" : "http",
         .authority = (is_six ? "[" + options_.host + "]" : options_.host) + ":" +
                      std::to_string(options_.port),
         .path = std::string(kPath),
         .max_message = options_.max_message,
         // The newest response holds all resources: those before it in the same bytes are skipped.
         .on_message = [this](std::string_view message) { newest_.emplace(message); }});
    session.send(discovery_.start());
    return exchange(socket, session);
}

std::string AdsClient::exchange(ClientSocket& socket, ClientSession& session) {
    std::array<char, 16384> input;
    std::string unsent;
    const auto began = Clock::now();
    auto last_input = began;
    while (true) {
        if (!session.take_output(unsent) || !socket.write(unsent)) return "the connection broke";
        if (session.end()) return text_of(*session.end());
        // A server need not answer before it has resources. One that accepts the stream and ends it
        // at once is no connection.
        if (session.is_open() && Clock::now() - began >= options_.connect_timeout) announce();
        const milliseconds timeout =
            is_announced_ ? options_.ping_interval
                          : std::min(options_.connect_timeout, options_.ping_interval);
        const auto events = static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT);
        const Ready ready = socket.wait(events, timeout);
        if (ready == Ready::kStopped) return "the client stops";
        if (ready == Ready::kTimeout) {
            const auto silence = Clock::now() - last_input;
            const bool is_late = session.is_open() ? silence >= 2 * options_.ping_interval
                                                   : silence >= options_.connect_timeout;
            if (is_late) return "the server does not answer";
            session.ping();
            continue;
        }
        const ssize_t got = socket.read(input);
        if (got < 0) return "the server closed the connection";
        if (got == 0) continue;
        last_input = Clock::now();
        if (!session.receive({input.data(), static_cast<std::size_t>(got)}))
            return "the server does not speak HTTP/2";
        if (!newest_) continue;
        if (!answer_newest(session)) return "the server sent a malformed response";
        if (!session.take_output(unsent) || !socket.write(unsent)) return "the connection broke";
        // A server that sends responses without end is read slowly.
        if (is_stopped(options_.pause)) return "the client stops";
    }
}

// False: the response is malformed.
bool AdsClient::answer_newest(ClientSession& session) {
    const auto answer = discovery_.on_response(*newest_);
    newest_.reset();
    if (!answer) return false;
    session.send(*answer);
    announce();
    return true;
}

void AdsClient::announce() {
    if (!std::exchange(is_announced_, true) && events_.on_connected) events_.on_connected();
}

}  // namespace sluice::grpc
