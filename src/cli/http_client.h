// One HTTP request and its answer, for commands that ask a server a single question.
#ifndef SLUICE_CLI_HTTP_CLIENT_H_
#define SLUICE_CLI_HTTP_CLIENT_H_

#include <sluice/result.h>

#include <chrono>
#include <string>

#include "cli/url.h"

namespace sluice::cli {

// Which server to ask, and how.
struct Target {
    Url url;
    std::string token;      // empty: none is sent
    std::string ca_cert;    // PEM file to trust; empty: what the system trusts
    bool insecure = false;  // believe any certificate
};

struct HttpAnswer {
    int status = 0;
    std::string body;
};

// Posts JSON and waits for the answer, `timeout` at most for all of it. The error says what went
// wrong, at which address.
Result<HttpAnswer> post_json(const Target& target,
                             const std::string& path,
                             const std::string& body,
                             std::chrono::milliseconds timeout);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_HTTP_CLIENT_H_
