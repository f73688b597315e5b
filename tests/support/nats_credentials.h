// Keys and tokens (JWT) of a NATS server in operator mode, made for a test.
#ifndef SLUICE_TESTS_SUPPORT_NATS_CREDENTIALS_H_
#define SLUICE_TESTS_SUPPORT_NATS_CREDENTIALS_H_

#include <string>

namespace sluice::nats_test {

// One operator with one account with one user.
struct NatsCredentials {
    std::string server_config;  // lines that make a server accept users of the account
    std::string user_file;      // the content of the user's credentials file
};

NatsCredentials make_nats_credentials();

}  // namespace sluice::nats_test

#endif  // SLUICE_TESTS_SUPPORT_NATS_CREDENTIALS_H_
