#include "grpc/client/discovery.h"

#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "grpc/header_values.h"
#include "grpc/status.h"

namespace sluice::grpc {

namespace {

// Versions and nonces are kept and sent back; servers use short ones.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostResources = 10'000;

// A DiscoveryResponse. Views point into its bytes.
struct Response {
    std::string_view version;
    std::string_view type_url;
    std::string_view nonce;
    std::vector<std::string_view> resources;
    std::optional<std::string> fault;  // a resource has another type
};

// The number of a field that is text or a message; 0 for others, which are unknown.
protozero::pbf_tag_type text_tag(const protozero::pbf_reader& reader) {
    return reader.wire_type() == protozero::pbf_wire_type::length_delimited ? reader.tag() : 0;
}

std::string_view next_text(protozero::pbf_reader& reader) {
    const protozero::data_view view = reader.get_view();
    return {view.data(), view.size()};
}

void add_resource(std::string_view any, const std::string& type_url, Response& response) {
    std::string_view type;
    std::string_view value;
    protozero::pbf_reader reader(any.data(), any.size());
    while (reader.next()) {
        if (text_tag(reader) == 1) {
            type = next_text(reader);
        } else if (text_tag(reader) == 2) {
            value = next_text(reader);
        } else {
            reader.skip();
        }
    }
    if (response.resources.size() >= kMostResources) {
        response.fault = "there are more resources; allowed are " + std::to_string(kMostResources);
        return;
    }
    if (type != type_url && !response.fault) {
        response.fault = "a resource has the type " + std::string(type.substr(0, kLongestText)) +
                         "; only " + type_url + " is allowed";
    }
    response.resources.push_back(value);
}

Response parse(std::string_view bytes, const std::string& type_url) {
    Response response;
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        switch (text_tag(reader)) {
            case 1:
                response.version = next_text(reader);
                break;
            case 2:
                add_resource(next_text(reader), type_url, response);
                break;
            case 4:
                response.type_url = next_text(reader);
                break;
            case 5:
                response.nonce = next_text(reader);
                break;
            default:
                reader.skip();
        }
    }
    if (response.type_url != type_url) {
        response.fault = "the response has the type " +
                         std::string(response.type_url.substr(0, kLongestText)) + "; only " +
                         type_url + " is allowed";
    }
    if (response.version.size() > kLongestText || response.nonce.size() > kLongestText) {
        response.fault = "the version or the nonce is longer; allowed are " +
                         std::to_string(kLongestText) + " bytes";
        response.nonce = response.nonce.substr(0, kLongestText);
    }
    return response;
}

}  // namespace

Discovery::Discovery(Options options, Handlers handlers)
    : options_(std::move(options)), handlers_(std::move(handlers)) {}

std::string Discovery::start() {
    return request("", std::nullopt);
}

std::optional<std::string> Discovery::on_response(std::string_view bytes) {
    Response response;
    try {
        response = parse(bytes, options_.type_url);
    } catch (const protozero::exception& malformed) {
        if (handlers_.on_invalid)
            handlers_.on_invalid(std::string("the response is malformed: ") + malformed.what());
        return std::nullopt;
    }
    std::optional<std::string> error = response.fault;
    if (error && handlers_.on_invalid) handlers_.on_invalid(*error);
    if (!error) error = handlers_.apply(response.resources);
    if (!error) version_ = response.version;
    return request(response.nonce, error);
}

// A DiscoveryRequest; with a nonce, it accepts or refuses the response that had it.
std::string Discovery::request(std::string_view nonce,
                               const std::optional<std::string>& error) const {
    std::string bytes;
    protozero::pbf_writer request(bytes);
    if (!version_.empty()) request.add_string(1, version_);
    {
        protozero::pbf_writer node(request, 2);
        node.add_string(1, options_.node_id);
        if (!options_.cluster.empty()) node.add_string(2, options_.cluster);
        node.add_string(6, "sluice");
    }
    request.add_string(4, options_.type_url);
    if (!nonce.empty()) request.add_string(5, nonce.data(), nonce.size());
    if (error) {
        protozero::pbf_writer detail(request, 6);
        detail.add_int32(1, static_cast<std::int32_t>(Code::kInvalidArgument));
        // May have parts of the resources, which need not be UTF-8 as this text must be.
        detail.add_string(2, percent_encode(*error));
    }
    return bytes;
}

}  // namespace sluice::grpc
