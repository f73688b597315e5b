// The files of the TLS settings, as the server loads them.
#ifndef SLUICE_CLI_TLS_FILES_H_
#define SLUICE_CLI_TLS_FILES_H_

#include "config/settings.h"
#include "http/wire/tls.h"

namespace sluice::cli {

inline http::TlsFiles tls_files(const config::TlsSettings& tls) {
    return {.certificate = tls.cert, .key = tls.key, .client_ca = tls.client_ca};
}

}  // namespace sluice::cli

#endif  // SLUICE_CLI_TLS_FILES_H_
