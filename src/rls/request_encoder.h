// Encodes requests of the rate-limit service, for tests.
#ifndef SLUICE_RLS_REQUEST_ENCODER_H_
#define SLUICE_RLS_REQUEST_ENCODER_H_

#include <string>

#include <protozero/pbf_writer.hpp>

#include "rls/messages.h"

namespace sluice::rls {

// Writes every field that is present, also with its default value.
inline std::string encode_request(const RateLimitRequest& request) {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    out.add_string(1, request.domain.data(), request.domain.size());
    for (const Descriptor& descriptor : request.descriptors) {
        protozero::pbf_writer nested(out, 2);
        for (const DescriptorEntry& entry : request.entries_of(descriptor)) {
            protozero::pbf_writer pair(nested, 1);
            pair.add_string(1, entry.key.data(), entry.key.size());
            pair.add_string(2, entry.value.data(), entry.value.size());
        }
        if (descriptor.limit) {
            protozero::pbf_writer limit(nested, 2);
            limit.add_uint32(1, descriptor.limit->requests_per_unit);
            limit.add_uint32(2, static_cast<std::uint32_t>(descriptor.limit->unit));
        }
        if (descriptor.hits_addend) {
            protozero::pbf_writer wrapper(nested, 3);
            wrapper.add_uint64(1, *descriptor.hits_addend);
        }
        nested.add_bool(4, descriptor.is_negative_hits);
    }
    out.add_uint32(3, request.hits_addend);
    return bytes;
}

}  // namespace sluice::rls

#endif  // SLUICE_RLS_REQUEST_ENCODER_H_
