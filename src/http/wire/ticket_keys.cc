#include "http/wire/ticket_keys.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

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

// Where an SSL_CTX has its keys. They go with it, since sessions may outlive the TlsContext.
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

// Makes a new key where there is none or it has been used for long enough.
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

}  // namespace sluice::http
