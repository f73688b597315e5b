// The descriptors of the services' .proto files, by file name and by symbol.
#ifndef SLUICE_GRPC_DESCRIPTOR_INDEX_H_
#define SLUICE_GRPC_DESCRIPTOR_INDEX_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::grpc {

// An encoded google.protobuf.FileDescriptorSet of src/grpc/proto and what it imports. Built by
// protoc.
std::string_view embedded_descriptors();

// Immutable after construction; thread-safe. It refers to the encoded set.
class DescriptorIndex {
  public:
    // Throws protozero::exception if the set is malformed.
    explicit DescriptorIndex(std::string_view encoded_set);

    // The encoded FileDescriptorProto of a file, then those of all its imports. Empty if there is
    // no such file.
    std::vector<std::string_view> file_named(std::string_view name) const;
    // The same for the file that defines a message, enum, service, method or field.
    std::vector<std::string_view> file_defining(std::string_view symbol) const;
    bool has_message(std::string_view name) const;

  private:
    enum class Kind : bool { kMessage, kOther };
    struct File {
        std::string_view bytes;
        std::vector<std::string> imports;
    };
    struct Symbol {
        const std::string* file;
        Kind kind;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    template <class Value>
    using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

    void add_file(std::string_view bytes);
    void add_message(const std::string& scope, std::string_view bytes, const std::string& file);
    void add_service(const std::string& scope, std::string_view bytes, const std::string& file);
    void collect(std::string_view name, std::vector<std::string_view>& files) const;

    Map<File> files_;
    Map<Symbol> symbols_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_DESCRIPTOR_INDEX_H_
