// Certificates for a test.
#ifndef SLUICE_TESTS_SERVER_CERTIFICATE_H_
#define SLUICE_TESTS_SERVER_CERTIFICATE_H_

#include <string>

#include "server/scratch_folder.h"

namespace sluice::server_test {

struct Certificate {
    std::string cert;  // the paths of two PEM files
    std::string key;
};

// Makes a key and a certificate signed with it, for `name` and 127.0.0.1, in the files <file>.crt
// and <file>.key.
Certificate make_certificate(const ScratchFolder& folder,
                             const std::string& file,
                             const std::string& name);

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_CERTIFICATE_H_
