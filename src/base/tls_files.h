// Loads certificates and keys from files, with errors that say what is wrong with which file.
#ifndef SLUICE_BASE_TLS_FILES_H_
#define SLUICE_BASE_TLS_FILES_H_

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>

namespace sluice {
namespace internal {

// Why a file can't be read; none if it can.
inline std::optional<std::string> unreadable(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               std::fclose);
    // Reading a byte fails for a directory.
    const bool is_readable = file && (std::fgetc(file.get()) != EOF || std::feof(file.get()) != 0);
    if (is_readable) return std::nullopt;
    return "it can't be read: " + std::generic_category().message(errno);
}

// The first of this thread's OpenSSL errors; those behind it repeat it in other words.
inline std::string openssl_reason(unsigned long code) {
    const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason == nullptr ? "unknown error" : reason;
}

}  // namespace internal

// Loads a chain in PEM, the own certificate first. Returns what is wrong with the file, if anything
// is.
[[nodiscard]] inline std::optional<std::string> use_certificate_chain(SSL_CTX* context,
                                                                      const std::string& path) {
    if (auto why = internal::unreadable(path)) return why;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return std::nullopt;
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    return "it holds no certificate in PEM (" + internal::openssl_reason(code) + ")";
}

// Loads the private key of the context's certificate, in PEM. Returns what is wrong with the file,
// if anything is. An encrypted key is an error: there is no prompt for its passphrase.
[[nodiscard]] inline std::optional<std::string> use_private_key(SSL_CTX* context,
                                                                const std::string& path) {
    if (auto why = internal::unreadable(path)) return why;
    bool is_encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void* was_asked) {
        *static_cast<bool*>(was_asked) = true;
        return -1;
    });
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_encrypted);
    ERR_clear_error();
    const bool is_loaded =
        SSL_CTX_use_PrivateKey_file(context, path.c_str(), SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_check_private_key(context) == 1;
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(context, nullptr);
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    if (is_loaded) return std::nullopt;
    if (is_encrypted)
        return "the key is encrypted and there is no prompt for its passphrase; store it "
               "without one, as `openssl pkey -in FILE -out NEW` does";
    if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH)
        return "it is not the key of the certificate";
    return "it holds no private key in PEM (" + internal::openssl_reason(code) + ")";
}

}  // namespace sluice

#endif  // SLUICE_BASE_TLS_FILES_H_
