// Values of a google.protobuf.Struct: the dynamic metadata of rules and answers.
#ifndef SLUICE_RLS_METADATA_H_
#define SLUICE_RLS_METADATA_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::rls {

struct MetadataField;

// The fields of a Struct, in the order in which they were set. Names are unique.
using MetadataFields = std::vector<MetadataField>;

// A value of JSON. Its members are defined where MetadataField is complete.
struct MetadataValue {
    using List = std::vector<MetadataValue>;
    using Data = std::variant<std::nullptr_t, bool, double, std::string, List, MetadataFields>;

    MetadataValue();
    MetadataValue(Data data);  // NOLINT(google-explicit-constructor)
    MetadataValue(const MetadataValue&);
    MetadataValue(MetadataValue&&) noexcept;
    MetadataValue& operator=(const MetadataValue&);
    MetadataValue& operator=(MetadataValue&&) noexcept;
    ~MetadataValue();

    Data value;
};

struct MetadataField {
    std::string name;
    MetadataValue value;
};

// Adds what `from` has to `into`. Where both have a field of one name, Structs are merged and any
// other value of `into` stays.
void merge(const MetadataFields& from, MetadataFields& into);

// Appends the encoding of a google.protobuf.Struct.
void append_protobuf(std::string& out, const MetadataFields& fields);

// Appends a JSON object.
void append_json(std::string& out, const MetadataFields& fields);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_METADATA_H_
