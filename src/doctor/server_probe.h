// A probe for the kind of server that listens on an address.
#ifndef SLUICE_DOCTOR_SERVER_PROBE_H_
#define SLUICE_DOCTOR_SERVER_PROBE_H_

#include "config/address.h"

namespace sluice::doctor {

enum class ListenerKind { kApi, kAdmin, kGrpc };

enum class Tls { kNo, kYes };

enum class ServerKind {
    kSluice,   // for gRPC: a server that speaks HTTP/2
    kForeign,  // another program, or one that does not answer
    kUnknown,  // it serves only clients with a certificate
};

// Connects to `address` and sends a request that a listener of this kind answers without a token.
// Any certificate of the server is accepted. Takes up to two seconds.
ServerKind probe_server(const config::Address& address, ListenerKind kind, Tls tls);

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_SERVER_PROBE_H_
