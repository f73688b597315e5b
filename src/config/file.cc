#include "config/file.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <system_error>

#include <toml++/toml.h>

#include "config/token_table.h"

namespace sluice::config {
namespace {

constexpr std::size_t kLargestFile = 4U << 20U;

std::string key_under(const std::string& table, const toml::key& key) {
    return table.empty() ? std::string(key.str()) : table + "." + std::string(key.str());
}

// Walks the tables of a file and lists the values in them.
class Walk {
  public:
    Walk(const std::string& name, FileContents& contents, Problems& problems)
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
    // An empty [log] sets nothing, and is no mistake.
    static bool is_table_of_settings(const std::string& path) {
        return path == "tls" || path == "log" || path == "http";
    }

    const std::string& name_;
    FileContents& contents_;
    Problems& problems_;
};

}  // namespace

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

FileContents parse_file(std::string_view text, const std::string& name, Problems& problems) {
    FileContents contents;
    try {
        const toml::table table = toml::parse(text);
        Walk(name, contents, problems).walk("", table);
    } catch (const toml::parse_error& error) {
        problems.push_back(name + ":" + std::to_string(error.source().begin.line) +
                           ": this is not TOML: " + std::string(error.description()));
    }
    return contents;
}

}  // namespace sluice::config
