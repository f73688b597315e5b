// TLS settings that can be replaced while connections live.
#ifndef SLUICE_HTTP_WIRE_TLS_H_
#define SLUICE_HTTP_WIRE_TLS_H_

#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"

using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

struct TlsFiles {
    std::string certificate;  // PEM, the chain in order, our own first
    std::string key;          // PEM
    // PEM; where it is set, a client needs a certificate that one of these authorities has signed.
    std::string client_ca{};
};

// A certificate with its key, ready to serve TLS 1.2 and 1.3 with ephemeral key exchange and
// authenticated encryption alone. Immutable but for the keys of session tickets, which belong to it
// and are replaced every hour; thread-safe.
class TlsContext {
  public:
    // kInvalidOption: a file can't be read, is no PEM, or the key is encrypted or not the
    // certificate's. The error names the setting, tls.cert, tls.key or tls.client_ca, and the file.
    // `clock` is for tests: it says when the keys of session tickets are due for replacement.
    static Result<std::shared_ptr<const TlsContext>> load(
        const TlsFiles& files,
        std::function<std::chrono::steady_clock::time_point()> clock =
            std::chrono::steady_clock::now);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    SSL_CTX* native() const { return context_; }

    // Erases keys of session tickets that are no longer of use. To be called now and then.
    void expire_ticket_keys() const;

  private:
    explicit TlsContext(SSL_CTX* context) : context_(context) {}

    SSL_CTX* context_;
};

// The context that new connections use; those that exist keep theirs. Thread-safe.
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
