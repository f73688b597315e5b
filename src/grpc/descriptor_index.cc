#include "grpc/descriptor_index.h"

#include <algorithm>
#include <utility>

#include <protozero/pbf_reader.hpp>

namespace sluice::grpc {

namespace {

using protozero::pbf_reader;

// Field numbers of google/protobuf/descriptor.proto.
constexpr protozero::pbf_tag_type kSetFile = 1;
constexpr protozero::pbf_tag_type kName = 1;  // of files, messages, enums, services and members
constexpr protozero::pbf_tag_type kFilePackage = 2;
constexpr protozero::pbf_tag_type kFileImport = 3;
constexpr protozero::pbf_tag_type kFileMessage = 4;
constexpr protozero::pbf_tag_type kFileEnum = 5;
constexpr protozero::pbf_tag_type kFileService = 6;
constexpr protozero::pbf_tag_type kMessageField = 2;
constexpr protozero::pbf_tag_type kMessageNested = 3;
constexpr protozero::pbf_tag_type kMessageEnum = 4;
constexpr protozero::pbf_tag_type kServiceMethod = 2;

std::string_view next_bytes(pbf_reader& reader) {
    const protozero::data_view view = reader.get_view();
    return {view.data(), view.size()};
}

// The first field `tag` of an encoded message; empty if there is none.
std::string_view field_of(std::string_view bytes, protozero::pbf_tag_type tag) {
    pbf_reader reader(bytes.data(), bytes.size());
    return reader.next(tag) ? next_bytes(reader) : std::string_view();
}

// Calls `act` with each field `tag` of an encoded message.
template <class Act>
void for_each(std::string_view bytes, protozero::pbf_tag_type tag, Act act) {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next(tag))
        act(next_bytes(reader));
}

std::string join(const std::string& scope, std::string_view name) {
    return scope.empty() ? std::string(name) : scope + "." + std::string(name);
}

}  // namespace

DescriptorIndex::DescriptorIndex(std::string_view encoded_set) {
    for_each(encoded_set, kSetFile, [&](std::string_view file) { add_file(file); });
}

void DescriptorIndex::add_file(std::string_view bytes) {
    const auto [place, is_new] =
        files_.emplace(field_of(bytes, kName), File{.bytes = bytes, .imports = {}});
    if (!is_new) return;
    const std::string& name = place->first;
    for_each(bytes, kFileImport, [&file = place->second](std::string_view import) {
        file.imports.emplace_back(import);
    });
    const std::string package(field_of(bytes, kFilePackage));
    for_each(bytes, kFileMessage, [&](std::string_view it) { add_message(package, it, name); });
    for_each(bytes, kFileService, [&](std::string_view it) { add_service(package, it, name); });
    for_each(bytes, kFileEnum, [&](std::string_view it) {
        symbols_.emplace(join(package, field_of(it, kName)), Symbol{&name, Kind::kOther});
    });
}

void DescriptorIndex::add_message(const std::string& scope,
                                  std::string_view bytes,
                                  const std::string& file) {
    const std::string name = join(scope, field_of(bytes, kName));
    symbols_.emplace(name, Symbol{&file, Kind::kMessage});
    for_each(bytes, kMessageNested, [&](std::string_view it) { add_message(name, it, file); });
    for (const protozero::pbf_tag_type member : {kMessageField, kMessageEnum}) {
        for_each(bytes, member, [&](std::string_view it) {
            symbols_.emplace(join(name, field_of(it, kName)), Symbol{&file, Kind::kOther});
        });
    }
}

void DescriptorIndex::add_service(const std::string& scope,
                                  std::string_view bytes,
                                  const std::string& file) {
    const std::string name = join(scope, field_of(bytes, kName));
    symbols_.emplace(name, Symbol{&file, Kind::kOther});
    for_each(bytes, kServiceMethod, [&](std::string_view it) {
        symbols_.emplace(join(name, field_of(it, kName)), Symbol{&file, Kind::kOther});
    });
}

// Adds the file and its imports, each once.
void DescriptorIndex::collect(std::string_view name, std::vector<std::string_view>& files) const {
    const auto found = files_.find(name);
    if (found == files_.end()) return;
    const std::string_view bytes = found->second.bytes;
    const auto is_same = [&](std::string_view file) { return file.data() == bytes.data(); };
    if (std::any_of(files.begin(), files.end(), is_same)) return;
    files.push_back(bytes);
    for (const std::string& import : found->second.imports)
        collect(import, files);
}

std::vector<std::string_view> DescriptorIndex::file_named(std::string_view name) const {
    std::vector<std::string_view> files;
    collect(name, files);
    return files;
}

std::vector<std::string_view> DescriptorIndex::file_defining(std::string_view symbol) const {
    const auto found = symbols_.find(symbol);
    if (found == symbols_.end()) return {};
    return file_named(*found->second.file);
}

bool DescriptorIndex::has_message(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found != symbols_.end() && found->second.kind == Kind::kMessage;
}

}  // namespace sluice::grpc
