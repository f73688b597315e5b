// How the client commands speak TLS.
#ifndef SLUICE_CLI_CLIENT_TLS_H_
#define SLUICE_CLI_CLIENT_TLS_H_

#include <boost/asio/ssl/context.hpp>

#include "cli/http_client.h"

namespace sluice::cli {

// Trusts what the target says is to be trusted. Throws boost::system::system_error where its file
// can't be read.
boost::asio::ssl::context client_tls_context(const Target& target);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_CLIENT_TLS_H_
