#include "grpc/reflection_service.h"

#include <memory>
#include <string>
#include <vector>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {

namespace {

using protozero::pbf_reader;
using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Fields of a request.
constexpr pbf_tag_type kHost = 1;
constexpr pbf_tag_type kFileByName = 3;
constexpr pbf_tag_type kFileBySymbol = 4;
constexpr pbf_tag_type kFileByExtension = 5;
constexpr pbf_tag_type kExtensionNumbers = 6;
constexpr pbf_tag_type kListServices = 7;

// Fields of a response.
constexpr pbf_tag_type kValidHost = 1;
constexpr pbf_tag_type kOriginalRequest = 2;
constexpr pbf_tag_type kFiles = 4;
constexpr pbf_tag_type kNumbers = 5;
constexpr pbf_tag_type kServices = 6;
constexpr pbf_tag_type kError = 7;

struct Query {
    pbf_tag_type kind = 0;
    std::string text;
    std::string host;
};

Query parse(std::string_view bytes) {
    Query query;
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        // A field of another type is unknown, as in other implementations.
        const bool is_text = reader.wire_type() == protozero::pbf_wire_type::length_delimited;
        switch (is_text ? reader.tag() : 0) {
            case kHost:
                query.host = reader.get_string();
                break;
            case kFileByName:
            case kFileBySymbol:
            case kFileByExtension:
            case kExtensionNumbers:
            case kListServices:
                query.kind = reader.tag();
                query.text = reader.get_string();
                break;
            default:
                reader.skip();
        }
    }
    return query;
}

void write_error(pbf_writer& response, Code code, const std::string& message) {
    pbf_writer error(response, kError);
    error.add_int32(1, static_cast<std::int32_t>(code));
    error.add_string(2, message);
}

void write_files(pbf_writer& response,
                 const std::vector<std::string_view>& files,
                 const std::string& name) {
    if (files.empty()) return write_error(response, Code::kNotFound, name + " is not known.");
    pbf_writer answer(response, kFiles);
    for (const std::string_view file : files)
        answer.add_bytes(1, file.data(), file.size());
}

void write_services(pbf_writer& response, const MethodRegistry& methods) {
    pbf_writer list(response, kServices);
    for (const std::string& name : methods.services()) {
        pbf_writer service(list, 1);
        service.add_string(1, name);
    }
}

// No message has extensions.
void write_numbers(pbf_writer& response,
                   const DescriptorIndex& descriptors,
                   const std::string& message) {
    if (!descriptors.has_message(message))
        return write_error(response, Code::kNotFound, message + " is not known.");
    pbf_writer numbers(response, kNumbers);
    numbers.add_string(1, message);
}

class ReflectionStream final : public StreamHandler {
  public:
    ReflectionStream(StreamWriter& writer,
                     const MethodRegistry& methods,
                     const DescriptorIndex& descriptors)
        : writer_(writer), methods_(methods), descriptors_(descriptors) {}

    void on_message(std::string_view message) override {
        if (const auto answer = answer_reflection(message, methods_, descriptors_))
            return writer_.send(*answer);
        writer_.finish({Code::kInvalidArgument, "The request is no ServerReflectionRequest."});
    }
    void on_end() override { writer_.finish({}); }

  private:
    StreamWriter& writer_;
    const MethodRegistry& methods_;
    const DescriptorIndex& descriptors_;
};

}  // namespace

std::optional<std::string> answer_reflection(std::string_view request,
                                             const MethodRegistry& methods,
                                             const DescriptorIndex& descriptors) {
    Query query;
    try {
        query = parse(request);
    } catch (const protozero::exception&) {
        return std::nullopt;
    }
    std::string bytes;
    pbf_writer response(bytes);
    response.add_string(kValidHost, query.host);
    response.add_message(kOriginalRequest, request.data(), request.size());
    switch (query.kind) {
        case kFileByName:
            write_files(response, descriptors.file_named(query.text), query.text);
            break;
        case kFileBySymbol:
            write_files(response, descriptors.file_defining(query.text), query.text);
            break;
        case kExtensionNumbers:
            write_numbers(response, descriptors, query.text);
            break;
        case kListServices:
            write_services(response, methods);
            break;
        case kFileByExtension:
            write_error(response, Code::kNotFound, "No message has extensions.");
            break;
        default:
            write_error(response, Code::kUnimplemented, "The kind of request is not known.");
    }
    return bytes;
}

void add_reflection(MethodRegistry& methods, const DescriptorIndex& descriptors) {
    for (const std::string_view service :
         {"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}) {
        methods.add(service, "ServerReflectionInfo", StreamOpener([&](StreamWriter& writer) {
                        return std::make_unique<ReflectionStream>(writer, methods, descriptors);
                    }));
    }
}

}  // namespace sluice::grpc
