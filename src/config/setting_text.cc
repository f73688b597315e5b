#include "config/setting_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace sluice::config {

std::string default_of(const Setting& setting) {
    static const Settings defaults;
    return setting.show(defaults);
}

std::string example_of(const Setting& setting) {
    // By the placeholder, for settings without an example of their own.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kExamples = {
        {{"HOST:PORT", "127.0.0.1:8080"},
         {"FILE", "/etc/sluice/file"},
         {"PATH", "/etc/sluice/file"},
         {"DIR", "/var/lib/sluice"},
         {"NAME", "name"},
         {"NAMES", "one,two"}}};
    const std::string initial = default_of(setting);
    if (initial != "\"\"") return initial;
    if (!setting.example.empty()) return quoted(setting.example);
    for (const auto& [value_name, example] : kExamples) {
        if (setting.value_name == value_name) return quoted(example);
    }
    return initial;
}

std::vector<std::string> words_allowed(const Setting& setting) {
    // "a, b or c"
    std::string list(setting.allowed);
    const std::size_t last = list.find(" or ");
    if (last == std::string::npos) return {};
    list.replace(last, 4, ", ");
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(", ", begin), list.size());
        words.push_back(list.substr(begin, end - begin));
        begin = end + 2;
    }
    const bool are_words = std::ranges::all_of(words, [](const std::string& word) {
        return word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    });
    return are_words ? words : std::vector<std::string>();
}

}  // namespace sluice::config
