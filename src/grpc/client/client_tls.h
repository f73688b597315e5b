// TLS for connections to a gRPC server.
#ifndef SLUICE_GRPC_CLIENT_CLIENT_TLS_H_
#define SLUICE_GRPC_CLIENT_CLIENT_TLS_H_

#include <sluice/result.h>

#include <memory>
#include <string>

using SSL_CTX = struct ssl_ctx_st;

namespace sluice::grpc {

// Paths of PEM files, or empty.
struct ClientTlsFiles {
    std::string ca{};    // trusted authorities; empty: those of the system
    std::string cert{};  // the client's certificate, with its key
    std::string key{};
    std::string server_name{};  // that the server's certificate must have; empty: the host's
};

using ClientTlsContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

// Reads the files for TLS 1.2 or 1.3, in which the server's certificate is verified. The error
// names the file and what is wrong with it.
Result<ClientTlsContext> load_client_tls(const ClientTlsFiles& files);

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CLIENT_CLIENT_TLS_H_
