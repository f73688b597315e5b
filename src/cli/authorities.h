// The certificate authorities of the system, for OpenSSL.
#ifndef SLUICE_CLI_AUTHORITIES_H_
#define SLUICE_CLI_AUTHORITIES_H_

#include <string>
#include <vector>

namespace sluice::cli {

struct AuthorityPlaces {
    std::string file;    // where OpenSSL looks
    std::string folder;  // the same
    std::vector<std::string> others;
};

// The first of `others` that exists, where OpenSSL would find nothing; else empty.
std::string missing_authorities(const AuthorityPlaces& places);

// Has OpenSSL use the authorities of distributions that keep them elsewhere than the one it was
// built for: sets SSL_CERT_FILE, unless that or SSL_CERT_DIR is set. Requires that no other thread
// runs.
void use_system_authorities();

}  // namespace sluice::cli

#endif  // SLUICE_CLI_AUTHORITIES_H_
