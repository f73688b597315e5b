// Typed reading of YAML nodes, with errors that name the line.
#ifndef SLUICE_RLS_YAML_FIELDS_H_
#define SLUICE_RLS_YAML_FIELDS_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "rls/metadata.h"

namespace sluice::rls {

// Reads the nodes of one file. The first error is kept, and later ones are ignored: callers read on
// and look at error() in the end.
//
// Thread-compatible.
class YamlFields {
  public:
    explicit YamlFields(std::string source) : source_(std::move(source)) {}

    const std::optional<Error>& error() const { return error_; }
    std::vector<std::string>& warnings() { return warnings_; }

    // One pair of a mapping.
    struct Field {
        std::string name;
        YAML::Node value;
    };
    // The keys that are allowed in a mapping, and those that are allowed elsewhere in the file.
    struct Keys {
        std::string_view what;  // "a descriptor"
        std::span<const std::string_view> allowed;
        std::span<const std::string_view> elsewhere;
    };

    // The fields of a mapping that are allowed; none of a node without content. Unknown and
    // repeated keys are errors, misplaced ones warnings.
    std::vector<Field> mapping(const YAML::Node& node, const Keys& keys);
    // The items of a list; none of a node without content.
    std::vector<YAML::Node> list(const Field& field);

    // Scalars as they are written: `yes` and `007` stay texts.
    std::string text(const Field& field);
    bool boolean(const Field& field);
    std::uint32_t number(const Field& field);
    std::chrono::milliseconds duration(const Field& field);
    MetadataFields metadata(const Field& field);

    static int line_of(const YAML::Node& node) { return node.Mark().line + 1; }
    void fail(const YAML::Node& node, const std::string& what);

  private:
    void fail_value(const Field& field, std::string_view allowed);
    MetadataValue metadata_value(const YAML::Node& node, int depth);
    MetadataFields metadata_fields(const YAML::Node& node, int depth);

    const std::string source_;
    std::optional<Error> error_;
    std::vector<std::string> warnings_;
    std::size_t metadata_values_ = 0;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_YAML_FIELDS_H_
