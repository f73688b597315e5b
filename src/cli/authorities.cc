#include "cli/authorities.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <openssl/x509.h>

namespace sluice::cli {

namespace fs = std::filesystem;

std::string missing_authorities(const AuthorityPlaces& places) {
    std::error_code failed;
    if (fs::exists(places.file, failed)) return "";
    const bool is_empty = fs::is_empty(places.folder, failed);
    if (!failed && !is_empty) return "";
    for (const std::string& other : places.others) {
        if (fs::exists(other, failed)) return other;
    }
    return "";
}

void use_system_authorities() {
    const char* const file = X509_get_default_cert_file_env();
    const char* const folder = X509_get_default_cert_dir_env();
    if (std::getenv(file) != nullptr || std::getenv(folder) != nullptr) return;
    const std::string found =
        missing_authorities({.file = X509_get_default_cert_file(),
                             .folder = X509_get_default_cert_dir(),
                             .others = {"/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/ssl/cert.pem",
                                        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}});
    if (!found.empty()) setenv(file, found.c_str(), 0);
}

}  // namespace sluice::cli
