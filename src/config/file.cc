#include "config/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <toml++/toml.h>

#include "config/catalog.h"

namespace sluice::config {
namespace {

constexpr std::size_t kLargestFile = 4U << 20U;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestPart = 512;  // of a workspace or a namespace pattern
constexpr std::size_t kMostPatterns = 1000;

// "sluice.toml:12"
std::string line_of(const std::string& name, const toml::node& node) {
    return name + ":" + std::to_string(node.source().begin.line);
}

std::string line_of(const std::string& name, const toml::key& key) {
    return name + ":" + std::to_string(key.source().begin.line);
}

Value value_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto integer = node.value_exact<std::int64_t>()) return *integer;
    if (const auto boolean = node.value_exact<bool>()) return *boolean;
    if (node.is_table()) return UnsupportedValue{"a table"};
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    return UnsupportedValue{text.str()};
}

struct PermissionName {
    std::string_view name;
    bool Permissions::*bit;
};
constexpr std::array kPermissions = {
    PermissionName{"limit", &Permissions::limit},
    PermissionName{"read_override", &Permissions::read_override},
    PermissionName{"set_override", &Permissions::set_override},
    PermissionName{"delete_override", &Permissions::delete_override},
    PermissionName{"read_metrics", &Permissions::read_metrics},
    PermissionName{"read_keys", &Permissions::read_keys}};

std::optional<std::string> text_up_to(const toml::node& node, std::size_t most) {
    auto text = node.value_exact<std::string>();
    if (!text || text->empty() || text->size() > most) return std::nullopt;
    return text;
}

// A list of 1 to `most` texts; none if it is anything else.
std::optional<std::vector<std::string>> texts_of(const toml::node& node, std::size_t most) {
    const toml::array* const array = node.as_array();
    if (array == nullptr || array->empty() || array->size() > most) return std::nullopt;
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
        auto text = text_up_to(element, kLongestPart);
        if (!text) return std::nullopt;
        texts.push_back(*std::move(text));
    }
    return texts;
}

std::optional<Permissions> permissions_of(const toml::node& node) {
    const auto names = texts_of(node, kPermissions.size());
    if (!names) return std::nullopt;
    Permissions permissions;
    for (const std::string& name : *names) {
        const auto has_name = [&](const PermissionName& permission) {
            return permission.name == name;
        };
        const auto* const found = std::find_if(kPermissions.begin(), kPermissions.end(), has_name);
        if (found == kPermissions.end()) return std::nullopt;
        permissions.*found->bit = true;
    }
    return permissions;
}

template <class T>
bool take(T& place, std::optional<T> value) {
    if (!value) return false;
    place = *std::move(value);
    return true;
}

// A key of a [[tokens]] table.
struct TokenField {
    std::string_view name;
    std::string_view allowed;
    bool (*set)(Token&, const toml::node&);
};
constexpr std::array kFields = {
    TokenField{"name",
               "a text of 1 to 64 bytes that no other token has",
               [](Token& token, const toml::node& node) {
                   return take(token.name, text_up_to(node, kLongestName));
               }},
    TokenField{"sha256",
               "the token's SHA-256 in 64 hexadecimal digits, as `sluice token` prints it",
               [](Token& token, const toml::node& node) {
                   const auto text = node.value_exact<std::string>();
                   return text && take(token.sha256, parse_sha256(*text));
               }},
    TokenField{"workspace",
               "a text of 1 to 512 bytes",
               [](Token& token, const toml::node& node) {
                   return take(token.workspace, text_up_to(node, kLongestPart));
               }},
    TokenField{"namespaces",
               "a list of 1 to 1000 patterns of 1 to 512 bytes, such as [\"email.*\"]",
               [](Token& token, const toml::node& node) {
                   return take(token.namespaces, texts_of(node, kMostPatterns));
               }},
    TokenField{"permissions",
               "a list of one or more of limit, read_override, set_override, delete_override, "
               "read_metrics, read_keys",
               [](Token& token, const toml::node& node) {
                   return take(token.permissions, permissions_of(node));
               }},
};

std::vector<std::string> field_names() {
    std::vector<std::string> names;
    for (const TokenField& field : kFields)
        names.emplace_back(field.name);
    return names;
}

// Reads one [[tokens]] table.
class TokenReader {
  public:
    TokenReader(const std::string& name, std::string path, SettingProblems& problems)
        : name_(name), path_(std::move(path)), problems_(problems) {}

    // None if anything is wrong with it.
    std::optional<Token> read(const toml::table& table) {
        const std::size_t before = problems_.size();
        Token token;
        for (const auto& [key, node] : table)
            set(token, key, node);
        for (const std::string_view needed : {"name", "sha256"}) {
            if (!table.contains(needed)) {
                problems_.push_back(not_allowed(given(line_of(name_, table), needed, "missing"),
                                                find(needed)->allowed));
            }
        }
        if (problems_.size() != before) return std::nullopt;
        return token;
    }

    GivenSetting given(std::string where, std::string_view field, std::string value) const {
        return {std::move(where), path_ + "." + std::string(field), std::move(value)};
    }

  private:
    static const TokenField* find(std::string_view name) {
        const auto has_name = [&](const TokenField& field) { return field.name == name; };
        const auto* const found = std::find_if(kFields.begin(), kFields.end(), has_name);
        return found == kFields.end() ? nullptr : found;
    }

    void set(Token& token, const toml::key& key, const toml::node& node) {
        const TokenField* const field = find(key.str());
        if (field == nullptr) {
            // With a misspelt sha256, the value may be the token itself.
            problems_.push_back(unknown_setting({line_of(name_, key),
                                                 std::string(key.str()) + " of " + path_,
                                                 std::string(kHidden)},
                                                field_names()));
        } else if (!field->set(token, node)) {
            const bool is_secret = sounds_secret(field->name);
            problems_.push_back(
                not_allowed(given(line_of(name_, key),
                                  field->name,
                                  is_secret ? std::string(kHidden) : as_written(value_of(node))),
                            field->allowed));
        }
    }

    const std::string& name_;
    std::string path_;
    SettingProblems& problems_;
};

// People distinguish tokens by their names, the server by their hashes.
void check_unique(const Token& token,
                  const TokenReader& reader,
                  const std::string& where,
                  FileContents& contents,
                  SettingProblems& problems) {
    for (const Token& other : contents.tokens) {
        if (other.name == token.name) {
            problems.push_back(
                not_allowed(reader.given(where, "name", quoted(token.name)), kFields[0].allowed));
        } else if (other.sha256 == token.sha256) {
            problems.push_back(
                not_allowed(reader.given(where, "sha256", "that of " + quoted(other.name)),
                            "one that no other token has"));
        }
    }
}

// Reads the [[tokens]] of a file, or whatever else it calls `tokens`.
void read_tokens(const toml::node& node,
                 const std::string& name,
                 FileContents& contents,
                 SettingProblems& problems) {
    contents.tokens_where = line_of(name, node);
    const toml::array* const array = node.as_array();
    const bool is_list = array != nullptr &&
                         std::all_of(array->begin(), array->end(), [](const toml::node& element) {
                             return element.is_table();
                         });
    if (!is_list || array->size() > kMaxTokens) {
        problems.push_back(not_allowed({contents.tokens_where, "tokens", std::string(kHidden)},
                                       "a list of up to 1000 [[tokens]] tables"));
        return;
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::table& table = *array->get(i)->as_table();
        TokenReader reader(name, "tokens[" + std::to_string(i) + "]", problems);
        auto token = reader.read(table);
        if (!token) continue;
        check_unique(*token, reader, line_of(name, table), contents, problems);
        contents.tokens.push_back(*std::move(token));
    }
}

std::string key_under(const std::string& table, const toml::key& key) {
    return table.empty() ? std::string(key.str()) : table + "." + std::string(key.str());
}

// Lists the values in the tables of a file.
class TableWalk {
  public:
    TableWalk(const std::string& name, FileContents& contents, SettingProblems& problems)
        : name_(name), contents_(contents), problems_(problems) {}

    void walk(const std::string& path, const toml::table& table) {
        for (const auto& [key, node] : table) {
            const std::string full = key_under(path, key);
            const toml::table* const inner = node.as_table();
            if (full == "tokens") {
                read_tokens(node, name_, contents_, problems_);
            } else if (inner != nullptr && !inner->empty()) {
                walk(full, *inner);
            } else if (inner == nullptr || !is_table_of_settings(full)) {
                contents_.values.push_back({full, line_of(name_, key), value_of(node)});
            }
        }
    }

  private:
    // An empty [log] sets nothing, and is not an error.
    static bool is_table_of_settings(const std::string& path) {
        return std::ranges::any_of(
            catalog(), [&](const Setting& setting) { return setting.key.starts_with(path + "."); });
    }

    const std::string& name_;
    FileContents& contents_;
    SettingProblems& problems_;
};

}  // namespace

std::vector<TokenFieldHelp> token_fields() {
    std::vector<TokenFieldHelp> fields;
    for (const TokenField& field : kFields)
        fields.push_back({field.name, field.allowed});
    return fields;
}

Result<std::string> read_text(const std::string& path) {
    const auto failed = [&](const std::string& why) {
        return Error{kInvalidOption, path + ": the file can't be read: " + why};
    };
    const auto reason = [] { return std::generic_category().message(errno); };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               std::fclose);
    if (!file) return failed(reason());
    std::string text(kLargestFile + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) return failed(reason());
    if (text.size() > kLargestFile) return failed("it is larger than 4 MiB");
    return text;
}

FileContents parse_file(std::string_view text, const std::string& name, SettingProblems& problems) {
    FileContents contents;
    try {
        const toml::table table = toml::parse(text);
        TableWalk(name, contents, problems).walk("", table);
    } catch (const toml::parse_error& error) {
        problems.push_back(name + ":" + std::to_string(error.source().begin.line) +
                           ": this is not TOML: " + std::string(error.description()));
    }
    return contents;
}

}  // namespace sluice::config
