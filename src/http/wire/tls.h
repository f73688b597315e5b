// TLS for listeners: certificates, session ticket keys, and their replacement at run time.
#ifndef SLUICE_HTTP_WIRE_TLS_H_
#define SLUICE_HTTP_WIRE_TLS_H_

#include <sluice/result.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/mutex.h"

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

struct TlsFiles {
    std::string certificate;  // PEM, the chain in order, our own first
    std::string key;          // PEM
    // PEM; if set, a client needs a certificate that one of these authorities has signed.
    std::string client_ca{};
};

// Keys that encrypt session tickets. They are replaced every hour: a stolen key exposes the resumed
// TLS 1.2 sessions of two hours, not of the whole life of the process.
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

    // Installs keys in `context`, which owns them. `clock` determines their age.
    static void install(SSL_CTX* context, std::function<Time()> clock);
    // Returns the keys that were installed in `context`.
    static TicketKeys& of(SSL_CTX* context);

    // Returns the key for new tickets; none if the system has no random bytes.
    std::optional<Key> current();

    struct Found {
        Key key;
        bool is_current;
    };
    // Returns the key with this name, if it may still decrypt.
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

// A certificate with its key, for TLS 1.2 and 1.3 with ephemeral key exchange and authenticated
// encryption only. Immutable except for its session ticket keys; thread-safe.
class TlsContext {
  public:
    // kInvalidOption: a file can't be read, is no PEM, or the key is encrypted or not the
    // certificate's. The error names the setting, tls.cert, tls.key or tls.client_ca, and the file.
    // `clock`, for tests, determines the age of session ticket keys.
    static Result<std::shared_ptr<const TlsContext>> load(
        const TlsFiles& files,
        std::function<std::chrono::steady_clock::time_point()> clock =
            std::chrono::steady_clock::now);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    SSL_CTX* native() const { return context_; }

    // Erases session ticket keys that have expired. To be called regularly.
    void expire_ticket_keys() const;

  private:
    explicit TlsContext(SSL_CTX* context) : context_(context) {}

    SSL_CTX* context_;
};

// The protocol that a client must offer if it uses ALPN.
enum class Alpn : bool { kHttp11, kH2 };

// Chooses the protocol of a connection; the context is shared by listeners of several protocols.
void offer_alpn(SSL* tls, Alpn alpn);

// The context for new connections; existing ones keep theirs. Thread-safe.
class TlsSlot {
  public:
    explicit TlsSlot(std::shared_ptr<const TlsContext> context) : context_(std::move(context)) {}

    void replace(std::shared_ptr<const TlsContext> context);
    std::shared_ptr<const TlsContext> current() const;

  private:
    mutable Mutex mutex_;
    std::shared_ptr<const TlsContext> context_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TLS_H_
