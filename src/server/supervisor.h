// The supervisor that started this process, as systemd does: notifications by the protocol of
// sd_notify(3).
#ifndef SLUICE_SERVER_SUPERVISOR_H_
#define SLUICE_SERVER_SUPERVISOR_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server {

// Sends each state as one datagram to a UNIX socket. A lost datagram is no error: the supervisor
// acts on what it misses. Thread-compatible.
class Supervisor {
  public:
    struct Options {
        std::string socket;  // a path, or @ and an abstract name; empty: there is no supervisor
        // Without a keep-alive for this long, the supervisor kills the process.
        std::optional<std::chrono::microseconds> watchdog = {};
    };

    // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which it removes, so that no child
    // process speaks for this one. Requires that no other thread runs.
    static Supervisor from_environment();

    explicit Supervisor(Options options) : options_(std::move(options)) {}

    bool exists() const { return !options_.socket.empty(); }
    // Not given if the supervisor expects no signs of life.
    std::optional<std::chrono::microseconds> watchdog() const { return options_.watchdog; }

    // Each also sets the status, a line for people.
    void ready(std::string_view status) const;
    void reloading(std::string_view status) const;
    // The end may take up to `most`.
    void stopping(std::string_view status, std::chrono::microseconds most) const;

    void sign_of_life() const;

  private:
    void send(const std::string& state) const;

    Options options_;
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_SUPERVISOR_H_
