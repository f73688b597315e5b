#include "server/supervisor.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::server {
namespace {

// How long a full queue of the supervisor may hold up this thread.
constexpr timeval kSendTimeout{.tv_sec = 1, .tv_usec = 0};

// Reads a variable, and removes it.
std::string take_variable(const char* name) {
    const char* const value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    unsetenv(name);
    return text;
}

std::optional<std::int64_t> number_in(const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, number);
    if (text.empty() || failed != std::errc() || stop != end) return std::nullopt;
    return number;
}

// The clock with which systemd orders reloads.
std::int64_t monotonic_microseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

// One line: the protocol has a line for each variable.
std::string status_line(std::string_view status) {
    std::string line(status);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return "STATUS=" + line;
}

}  // namespace

Supervisor Supervisor::from_environment() {
    Options options{.socket = take_variable("NOTIFY_SOCKET")};
    const auto watchdog = number_in(take_variable("WATCHDOG_USEC"));
    const std::string process = take_variable("WATCHDOG_PID");
    const bool is_meant = process.empty() || number_in(process) == getpid();
    if (is_meant && watchdog && *watchdog > 0)
        options.watchdog = std::chrono::microseconds(*watchdog);
    return Supervisor(std::move(options));
}

void Supervisor::ready(std::string_view status) const {
    send("READY=1\n" + status_line(status));
}

void Supervisor::reloading(std::string_view status) const {
    send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_microseconds()) + "\n" +
         status_line(status));
}

void Supervisor::stopping(std::string_view status, std::chrono::microseconds most) const {
    send("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + std::to_string(most.count()) + "\n" +
         status_line(status));
}

void Supervisor::sign_of_life() const {
    send("WATCHDOG=1");
}

void Supervisor::send(const std::string& state) const {
    const std::string& name = options_.socket;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const bool is_address = name.size() > 1 && (name[0] == '/' || name[0] == '@');
    if (!is_address || name.size() >= sizeof(address.sun_path)) return;
    std::memcpy(address.sun_path, name.data(), name.size());
    // An abstract name begins with a zero byte, and has none at its end.
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() +
                                             (name[0] == '@' ? 0 : 1));
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
    sendto(socket,
           state.data(),
           state.size(),
           MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address),
           size);
    ::close(socket);
}

}  // namespace sluice::server
