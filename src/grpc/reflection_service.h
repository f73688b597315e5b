// Server reflection: lists the services and their descriptors.
#ifndef SLUICE_GRPC_REFLECTION_SERVICE_H_
#define SLUICE_GRPC_REFLECTION_SERVICE_H_

#include <optional>
#include <string>
#include <string_view>

#include "grpc/descriptor_index.h"
#include "grpc/method.h"

namespace sluice::grpc {

// Returns the encoded answer to an encoded ServerReflectionRequest. None if it is malformed.
std::optional<std::string> answer_reflection(std::string_view request,
                                             const MethodRegistry& methods,
                                             const DescriptorIndex& descriptors);

// Adds versions v1 and v1alpha, whose messages are the same. Both arguments must outlive the
// calls.
void add_reflection(MethodRegistry& methods, const DescriptorIndex& descriptors);

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_REFLECTION_SERVICE_H_
