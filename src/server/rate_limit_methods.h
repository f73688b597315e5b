// The gRPC methods of the rate-limit service: Envoy's ShouldRateLimit, Kuadrant's CheckRateLimit
// and Report.
#ifndef SLUICE_SERVER_RATE_LIMIT_METHODS_H_
#define SLUICE_SERVER_RATE_LIMIT_METHODS_H_

#include "grpc/method.h"
#include "rls/rate_limiter.h"
#include "trace/tracer.h"

namespace sluice::server {

// Adds the methods to the registry of one serving thread, with a rate limiter of its own. A request
// that can't be decoded is answered with INVALID_ARGUMENT; the service's own errors with UNKNOWN,
// as envoyproxy/ratelimit does. What `parts` refers to, and `tracer`, must outlive the registry;
// without a tracer, calls that wait are not traced.
void add_rate_limit_methods(const rls::ServiceParts& parts,
                            trace::Tracer* tracer,
                            grpc::MethodRegistry& methods);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RATE_LIMIT_METHODS_H_
