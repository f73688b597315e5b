#include "http/wire/tls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "base/check.h"
#include "base/tls_files.h"

namespace sluice::http {

namespace {

using Key = TicketKeys::Key;

void erase(std::optional<Key>& key) {
    if (key) OPENSSL_cleanse(&*key, sizeof(Key));
    key.reset();
}

std::optional<Key> make_key(TicketKeys::Time now) {
    Key key{.name = {}, .cipher = {}, .mac = {}, .made = now};
    const auto fill = [](auto& bytes) {
        return RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1;
    };
    if (!fill(key.name) || !fill(key.cipher) || !fill(key.mac)) return std::nullopt;
    return key;
}

// The index of the keys in an SSL_CTX, which deletes them: sessions may outlive the TlsContext.
int keys_index() {
    static const int index = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* keys, CRYPTO_EX_DATA*, int, long, void*) {
            delete static_cast<TicketKeys*>(keys);
        });
    return index;
}

enum class Ticket { kFailed = -1, kUnknown = 0, kGood = 1, kGoodButOld = 2 };

bool set_up(
    Key& key, unsigned char* vector, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, bool encrypts) {
    std::array digest{'S', 'H', 'A', '2', '5', '6', '\0'};
    const std::array parameters{
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_CTX_set_params(mac, parameters.data()) == 1 &&
           EVP_CipherInit_ex(
               cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), vector, encrypts ? 1 : 0) ==
               1;
}

Ticket write_ticket(TicketKeys& keys,
                    unsigned char* name,
                    unsigned char* vector,
                    EVP_CIPHER_CTX* cipher,
                    EVP_MAC_CTX* mac) {
    auto key = keys.current();
    if (!key || RAND_bytes(vector, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1)
        return Ticket::kFailed;
    std::copy(key->name.begin(), key->name.end(), name);
    return set_up(*key, vector, cipher, mac, true) ? Ticket::kGood : Ticket::kFailed;
}

Ticket read_ticket(TicketKeys& keys,
                   const unsigned char* name,
                   unsigned char* vector,
                   EVP_CIPHER_CTX* cipher,
                   EVP_MAC_CTX* mac) {
    auto found = keys.find(std::span<const unsigned char, 16>(name, 16));
    if (!found) return Ticket::kUnknown;
    if (!set_up(found->key, vector, cipher, mac, false)) return Ticket::kFailed;
    return found->is_current ? Ticket::kGood : Ticket::kGoodButOld;
}

int on_ticket(SSL* session,
              unsigned char* name,
              unsigned char* vector,
              EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac,
              int encrypts) {
    TicketKeys& keys = TicketKeys::of(SSL_get_SSL_CTX(session));
    return static_cast<int>(encrypts != 0 ? write_ticket(keys, name, vector, cipher, mac)
                                          : read_ticket(keys, name, vector, cipher, mac));
}

}  // namespace

TicketKeys::~TicketKeys() {
    const MutexLock lock(mutex_);
    erase(current_);
    erase(previous_);
}

void TicketKeys::install(SSL_CTX* context, std::function<Time()> clock) {
    auto keys = std::make_unique<TicketKeys>(std::move(clock));
    if (SSL_CTX_set_ex_data(context, keys_index(), keys.get()) != 1) throw std::bad_alloc();
    keys.release();
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
    SSL_CTX_set_timeout(context, std::chrono::seconds{kLifetime}.count());
}

TicketKeys& TicketKeys::of(SSL_CTX* context) {
    return *static_cast<TicketKeys*>(SSL_CTX_get_ex_data(context, keys_index()));
}

std::optional<TicketKeys::Key> TicketKeys::current() {
    const Time now = clock_();
    const MutexLock lock(mutex_);
    expire_at(now);
    if (!renew_at(now)) return std::nullopt;
    return current_;
}

std::optional<TicketKeys::Found> TicketKeys::find(std::span<const unsigned char, 16> name) {
    const Time now = clock_();
    const MutexLock lock(mutex_);
    expire_at(now);
    for (const std::optional<Key>* key : {&current_, &previous_}) {
        if (!*key || !std::equal(name.begin(), name.end(), (*key)->name.begin())) continue;
        return Found{**key, now - (*key)->made < kLifetime};
    }
    return std::nullopt;
}

void TicketKeys::expire() {
    const Time now = clock_();
    const MutexLock lock(mutex_);
    expire_at(now);
}

void TicketKeys::expire_at(Time now) {
    for (std::optional<Key>* key : {&current_, &previous_}) {
        if (*key && now - (*key)->made >= 2 * kLifetime) erase(*key);
    }
}

// Makes a new key if there is none or the current one is older than kLifetime.
bool TicketKeys::renew_at(Time now) {
    if (current_ && now - current_->made < kLifetime) return true;
    auto key = make_key(now);
    if (!key) return false;
    erase(previous_);
    std::swap(previous_, current_);
    current_ = key;
    erase(key);
    return true;
}

namespace {

Error unusable(std::string_view setting, const std::string& file, const std::string& why) {
    return {kInvalidOption, std::string(setting) + " is \"" + file + "\": " + why};
}

constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::array<unsigned char, 3> kH2{2, 'h', '2'};

int select_protocol(SSL* tls,
                    const unsigned char** chosen,
                    unsigned char* chosen_size,
                    const unsigned char* offered,
                    unsigned int offered_size,
                    void* /*unused*/) {
    const bool is_h2 = SSL_get_app_data(tls) == kH2.data();
    const std::span<const unsigned char> ours =
        is_h2 ? std::span<const unsigned char>(kH2) : std::span<const unsigned char>(kHttp11);
    unsigned char* match = nullptr;
    const int outcome = SSL_select_next_proto(&match,
                                              chosen_size,
                                              ours.data(),
                                              static_cast<unsigned int>(ours.size()),
                                              offered,
                                              offered_size);
    *chosen = match;
    // A client that speaks another protocol fails here rather than at a reply that it can't parse.
    return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// For TLS 1.2: no CBC, no static RSA. TLS 1.3 has no such suites.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

void set_behaviour(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SLUICE_CHECK(SSL_CTX_set_cipher_list(context, kCiphers) == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // Buffers exist only while a record is in progress, so that idle connections stay small.
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // SSL_read() returns after a record without data, such as a KeyUpdate. SocketBio reads ahead,
    // and counts records of all kinds.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    // Sessions are resumed by tickets; a cache would need a lock that all threads share.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
}

// Returns an error message, or none.
std::optional<std::string> require_client_certificates(SSL_CTX* context,
                                                       const std::string& authorities) {
    if (auto why = internal::unreadable(authorities)) return why;
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(authorities.c_str());
    const bool is_loaded =
        names != nullptr && SSL_CTX_load_verify_file(context, authorities.c_str()) == 1;
    if (!is_loaded) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        const unsigned long code = ERR_get_error();
        ERR_clear_error();
        return "it holds no certificate in PEM (" + internal::openssl_reason(code) + ")";
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Without it, OpenSSL refuses to resume sessions with client certificates.
    static constexpr std::array<unsigned char, 6> kContext{'s', 'l', 'u', 'i', 'c', 'e'};
    SLUICE_CHECK(SSL_CTX_set_session_id_context(context, kContext.data(), kContext.size()) == 1);
    return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::load(
    const TlsFiles& files, std::function<std::chrono::steady_clock::time_point()> clock) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    if (context == nullptr) return Error{kOutOfMemory, "there is no memory left for TLS"};
    std::shared_ptr<const TlsContext> owner(new TlsContext(context));
    set_behaviour(context);
    TicketKeys::install(context, std::move(clock));
    if (const auto why = use_certificate_chain(context, files.certificate))
        return unusable("tls.cert", files.certificate, *why);
    if (const auto why = use_private_key(context, files.key))
        return unusable("tls.key", files.key, *why);
    if (!files.client_ca.empty()) {
        if (const auto why = require_client_certificates(context, files.client_ca))
            return unusable("tls.client_ca", files.client_ca, *why);
    }
    return owner;
}

void TlsContext::expire_ticket_keys() const {
    TicketKeys::of(context_).expire();
}

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
}

void offer_alpn(SSL* tls, Alpn alpn) {
    const unsigned char* const name = alpn == Alpn::kH2 ? kH2.data() : kHttp11.data();
    SSL_set_app_data(tls, const_cast<unsigned char*>(name));
}

void TlsSlot::replace(std::shared_ptr<const TlsContext> context) {
    const MutexLock lock(mutex_);
    context_.swap(context);
}

std::shared_ptr<const TlsContext> TlsSlot::current() const {
    const MutexLock lock(mutex_);
    return context_;
}

}  // namespace sluice::http
