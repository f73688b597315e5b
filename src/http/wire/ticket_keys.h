// The keys of TLS session tickets.
#ifndef SLUICE_HTTP_WIRE_TICKET_KEYS_H_
#define SLUICE_HTTP_WIRE_TICKET_KEYS_H_

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <span>

#include "base/mutex.h"

using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

// Keys that encrypt session tickets and are replaced regularly: whoever steals one can read the
// resumed TLS 1.2 sessions of two hours, not of the whole life of the process.
//
// Thread-safe.
class TicketKeys {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // A key encrypts new tickets for this long, and decrypts them for as long again.
    static constexpr std::chrono::hours kLifetime{1};

    struct Key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> cipher;  // of AES-256-CBC
        std::array<unsigned char, 32> mac;     // of HMAC-SHA-256
        Time made;
    };

    explicit TicketKeys(std::function<Time()> clock) : clock_(std::move(clock)) {}
    ~TicketKeys();
    TicketKeys(const TicketKeys&) = delete;
    TicketKeys& operator=(const TicketKeys&) = delete;

    // Makes `context` use keys of its own, which live as long as it does, and by `clock`.
    static void install(SSL_CTX* context, std::function<Time()> clock);
    // Those that were installed in `context`.
    static TicketKeys& of(SSL_CTX* context);

    // The key for new tickets; none if the system has no random bytes.
    std::optional<Key> current();

    struct Found {
        Key key;
        bool is_current;
    };
    // The key with this name, if it may still decrypt.
    std::optional<Found> find(std::span<const unsigned char, 16> name);

    // Erases keys that may no longer decrypt.
    void expire();

  private:
    void expire_at(Time now) SLUICE_REQUIRES(mutex_);
    bool renew_at(Time now) SLUICE_REQUIRES(mutex_);

    const std::function<Time()> clock_;
    Mutex mutex_;
    std::optional<Key> current_ SLUICE_GUARDED_BY(mutex_);
    std::optional<Key> previous_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TICKET_KEYS_H_
