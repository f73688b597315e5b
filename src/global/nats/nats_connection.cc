#include "global/nats/nats_connection.h"

#include <string_view>
#include <utility>

#include <nats/nats.h>
#include <openssl/ssl.h>

#include "base/tls_files.h"

namespace sluice {
namespace {

// All in milliseconds.
constexpr std::int64_t kConnectTimeout = 2'000;  // with TLS and login
constexpr std::int64_t kWriteTimeout = 2'000;
constexpr std::int64_t kAnswerTimeout = 2'000;  // to the subscriptions and the greeting
// A server that does not answer this many pings is lost.
constexpr std::int64_t kPingInterval = 2'000;
constexpr int kMaxPings = 2;

// What waits to be decoded, per subscription.
constexpr int kMaxPendingMessages = 4'096;
constexpr int kMaxPendingBytes = 8 * 1024 * 1024;

using OptionsHandle = std::unique_ptr<natsOptions, decltype(&natsOptions_Destroy)>;

// The library puts the place in its source before an error: "(conn.c:12): Timeout".
std::string without_place(std::string_view words) {
    const std::size_t end = words.find("): ");
    if (words.starts_with('(') && end != std::string_view::npos) words.remove_prefix(end + 3);
    return std::string(words);
}

// Of the last call of this thread, which failed with `status`.
std::string words_of(natsStatus status) {
    const char* const words = nats_GetLastError(nullptr);
    if (words == nullptr || *words == '\0') return natsStatus_GetText(status);
    return without_place(words);
}

// Without a handler, the library writes errors to standard error.
void ignore_error(natsConnection*, natsSubscription*, natsStatus, void*) {}

// The closure of a subscription.
struct Receiver {
    std::shared_ptr<BusInbox> inbox;
    ThreadOptions thread;
};

// A message whose receiver fails is lost, like one that the server drops.
void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    const auto& [inbox, thread] = *static_cast<const Receiver*>(closure);
    const std::string_view bytes(natsMsg_GetData(message),
                                 static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    run_guarded(thread, [&inbox = inbox, bytes] { inbox->receive(bytes); });
    natsMsg_Destroy(message);
}

void on_complete(void* closure) {
    delete static_cast<Receiver*>(closure);
}

natsStatus set_login(natsOptions* options, const NatsAccess& access) {
    const NatsUrl& url = access.url;
    natsStatus status = NATS_OK;
    if (!url.user.empty())
        status = natsOptions_SetUserInfo(options, url.user.c_str(), url.password.c_str());
    if (status == NATS_OK && !url.token.empty())
        status = natsOptions_SetToken(options, url.token.c_str());
    if (status == NATS_OK && !access.credentials.empty())
        status =
            natsOptions_SetUserCredentialsFromFiles(options, access.credentials.c_str(), nullptr);
    return status;
}

// The library checks that the certificate names the host.
natsStatus set_tls(natsOptions* options, const NatsTls& tls) {
    natsStatus status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK && !tls.ca.empty())
        status = natsOptions_LoadCATrustedCertificates(options, tls.ca.c_str());
    if (status == NATS_OK && !tls.cert.empty())
        status = natsOptions_LoadCertificatesChain(options, tls.cert.c_str(), tls.key.c_str());
    return status;
}

natsStatus set_limits(natsOptions* options, const NatsAccess& access) {
    natsStatus status = natsOptions_SetTimeout(options, kConnectTimeout);
    const auto also = [&](natsStatus next) { status = status == NATS_OK ? next : status; };
    // NatsBus connects again, with its own delays and words.
    also(natsOptions_SetAllowReconnect(options, false));
    also(natsOptions_SetIgnoreDiscoveredServers(options, true));
    also(natsOptions_SetWriteDeadline(options, kWriteTimeout));
    also(natsOptions_SetPingInterval(options, kPingInterval));
    also(natsOptions_SetMaxPingsOut(options, kMaxPings));
    also(natsOptions_SetMaxPendingMsgs(options, kMaxPendingMessages));
    also(natsOptions_SetNoEcho(options, true));
    also(natsOptions_SetErrorHandler(options, ignore_error, nullptr));
    also(natsOptions_SetName(options, ("sluice " + access.region).c_str()));
    // One thread for all subscriptions; a single one has its own.
    also(natsOptions_UseGlobalMessageDelivery(options, access.subjects.size() > 1));
    return status;
}

natsStatus connect(const NatsAccess& access, const HostPort& server, natsConnection** connection) {
    natsOptions* created = nullptr;
    natsStatus status = natsOptions_Create(&created);
    const OptionsHandle options(created, natsOptions_Destroy);
    const std::string url = (access.url.tls ? "tls://" : "nats://") + to_string(server);
    if (status == NATS_OK) status = natsOptions_SetURL(options.get(), url.c_str());
    if (status == NATS_OK) status = set_limits(options.get(), access);
    if (status == NATS_OK) status = set_login(options.get(), access);
    if (status == NATS_OK && access.url.tls) status = set_tls(options.get(), access.tls);
    return status == NATS_OK ? natsConnection_Connect(connection, options.get()) : status;
}

Error unusable(const char* what, const std::string& path, const std::string& why) {
    return {kInvalidOption,
            std::string("the ") + what + " for the bus, \"" + path + "\", can't be used: " + why};
}

}  // namespace

std::optional<Error> unusable_files(const NatsAccess& access) {
    const NatsTls& tls = access.tls;
    if (!access.credentials.empty()) {
        if (const auto why = internal::unreadable(access.credentials))
            return unusable("credentials file", access.credentials, *why);
    }
    if (tls.cert.empty() != tls.key.empty())
        return Error{kInvalidOption,
                     "of the client certificate for the bus and its key only one is given; "
                     "allowed are both or none"};
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (!tls.ca.empty() && SSL_CTX_load_verify_file(context.get(), tls.ca.c_str()) != 1)
        return unusable("CA certificate", tls.ca, "it must be a readable PEM file");
    if (tls.cert.empty()) return std::nullopt;
    if (const auto why = use_certificate_chain(context.get(), tls.cert))
        return unusable("client certificate", tls.cert, *why);
    if (const auto why = use_private_key(context.get(), tls.key))
        return unusable("key of the client certificate", tls.key, *why);
    return std::nullopt;
}

NatsConnection::Opened NatsConnection::open(const NatsAccess& access,
                                            const HostPort& server,
                                            const std::shared_ptr<BusInbox>& inbox) {
    const std::string shown = to_string(server);
    natsConnection* connected = nullptr;
    const natsStatus status = connect(access, server, &connected);
    if (status != NATS_OK) return shown + ": " + words_of(status);
    std::unique_ptr<NatsConnection> connection(new NatsConnection(connected, shown));
    for (const std::string& subject : access.subjects)
        if (auto failed = connection->subscribe(access, subject, inbox)) return *std::move(failed);
    if (auto failed = connection->greet(access)) return *std::move(failed);
    return connection;
}

NatsConnection::~NatsConnection() {
    for (natsSubscription* subscription : subscriptions_)
        natsSubscription_Destroy(subscription);
    natsConnection_Destroy(connection_);
}

std::optional<std::string> NatsConnection::subscribe(const NatsAccess& access,
                                                     const std::string& subject,
                                                     const std::shared_ptr<BusInbox>& inbox) {
    auto receiver = std::make_unique<Receiver>(Receiver{inbox, access.thread});
    natsSubscription* subscription = nullptr;
    natsStatus status = natsConnection_Subscribe(
        &subscription, connection_, subject.c_str(), on_message, receiver.get());
    if (status != NATS_OK) return server_ + ": " + words_of(status);
    subscriptions_.push_back(subscription);
    natsSubscription_SetOnCompleteCB(subscription, on_complete, receiver.release());
    status = natsSubscription_SetPendingLimits(subscription, kMaxPendingMessages, kMaxPendingBytes);
    if (status != NATS_OK) return server_ + ": " + words_of(status);
    return std::nullopt;
}

// The server answers in order: an error about a subscription or the greeting has arrived before the
// answer to the flush has.
std::optional<std::string> NatsConnection::greet(const NatsAccess& access) {
    if (auto failed = publish(access.greeting_subject, access.greeting)) return failed;
    const natsStatus status = natsConnection_FlushTimeout(connection_, kAnswerTimeout);
    const char* ignored = nullptr;
    if (status == NATS_OK && natsConnection_GetLastError(connection_, &ignored) == NATS_OK)
        return std::nullopt;
    return server_ + ": " + words();
}

std::optional<std::string> NatsConnection::publish(const std::string& subject,
                                                   const std::string& bytes) {
    const natsStatus status = natsConnection_Publish(
        connection_, subject.c_str(), bytes.data(), static_cast<int>(bytes.size()));
    if (status == NATS_OK) return std::nullopt;
    return server_ + ": " + words();
}

std::optional<std::string> NatsConnection::problem() {
    if (natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED) return std::nullopt;
    return server_ + ": " + words();
}

// The server may close a connection without giving a reason.
std::string NatsConnection::words() const {
    const char* words = nullptr;
    const natsStatus status = natsConnection_GetLastError(connection_, &words);
    if (words != nullptr && *words != '\0') return without_place(words);
    return natsStatus_GetText(status == NATS_OK ? NATS_CONNECTION_CLOSED : status);
}

std::uint64_t NatsConnection::take_overflowed() {
    std::uint64_t all = 0;
    for (natsSubscription* subscription : subscriptions_) {
        std::int64_t dropped = 0;
        if (natsSubscription_GetDropped(subscription, &dropped) == NATS_OK && dropped > 0)
            all += static_cast<std::uint64_t>(dropped);
    }
    const std::uint64_t since = all > overflowed_ ? all - overflowed_ : 0;
    overflowed_ += since;
    return since;
}

}  // namespace sluice
