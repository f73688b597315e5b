#include "lint/layering.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace sluice::lint {

namespace {

constexpr std::array kLayers = {
    Layer{"base", ""},
    Layer{"metrics", "base"},
    Layer{"url", ""},
    Layer{"window", ""},
    Layer{"breaker", "base"},
    Layer{"sqlite", "base"},
    Layer{"mysql", "url base"},
    Layer{"counter", "window base"},

    // These three do not include each other.
    Layer{"decide", "counter window base"},
    Layer{"regional", "counter breaker window base"},
    Layer{"global", "counter breaker window base"},

    // Adapters include their port and its rules, and nothing else of its layer.
    Layer{"regional/redis", "regional/origin.h url base"},
    Layer{"regional/sqlite", "regional/origin.h sqlite base"},
    Layer{"global/mysql", "global/store.h mysql"},
    Layer{"global/nats", "global/bus.h global/bus_inbox.h global/announcement_codec.h url base"},
    Layer{"global/sqlite", "global/store.h sqlite base"},

    Layer{"service",
          "decide regional regional/redis regional/sqlite global global/mysql global/nats "
          "global/sqlite mysql sqlite counter window url base"},
    Layer{"overrides", "counter/limit_key.h sqlite mysql url window base"},
    Layer{"insight", "counter/limit_key.h metrics base"},
    Layer{"log", "base"},
    Layer{"http/client", "base"},
    Layer{"trace", "http/client url base"},
    Layer{"config", "log url base"},
    Layer{"page", ""},
    Layer{"rls", "overrides insight config log window metrics base"},
    Layer{"http/wire", "base"},
    Layer{"http/api", "http/wire page config overrides insight service trace window metrics base"},
    Layer{"grpc", "http/wire base"},
    Layer{"grpc/client", "grpc base"},
    Layer{"sim", "config service regional global counter window base"},
    Layer{"server",
          "http/wire http/api grpc grpc/client rls trace log config overrides insight service url "
          "metrics base"},
    Layer{"doctor",
          "server http/wire rls config regional/redis global/nats global/announcement_codec.h "
          "global/bus_inbox.h mysql url base"},
    Layer{"cli",
          "http/client doctor server rls config service global/accuracy_bound.h url window base"},
    // The only one that knows both the server and the simulator.
    Layer{"program", "cli sim page config base"},
};

// An #include and its position.
struct Include {
    std::string_view file;
    int line;
    char opening;  // '<' or '"'
    std::string target;
};

std::vector<Include> includes_of(const SourceFile& file) {
    static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
    std::vector<Include> includes;
    std::istringstream lines(file.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        std::smatch match;
        if (!std::regex_match(line, match, pattern)) continue;
        includes.push_back({file.path, number, *match[1].first, match[2].str()});
    }
    return includes;
}

// The part of `path` before its last slash; empty if there is none.
std::string_view folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

const Layer* find_layer(std::string_view name) {
    const auto has_name = [&](const Layer& layer) { return layer.name == name; };
    const auto layer = std::find_if(kLayers.begin(), kLayers.end(), has_name);
    return layer == kLayers.end() ? nullptr : &*layer;
}

// The layer of `file`; null for a folder that is not in the table.
const Layer* layer_of(const SourceFile& file) {
    const std::string_view folder = folder_of(file.path);
    if (file.path.starts_with("sim/")) return find_layer("sim");
    return folder.starts_with("src/") ? find_layer(folder.substr(4)) : nullptr;
}

std::string fault_at(const Include& include) {
    return std::string(include.file) + ":" + std::to_string(include.line) + ": includes " +
           include.target + ". ";
}

// Public headers include only the standard library and each other: nothing else is installed.
std::optional<std::string> public_fault(const Include& include) {
    const bool is_public = include.target.starts_with("sluice/");
    const bool is_standard = include.target.find_first_of("/.") == std::string::npos;
    if (include.opening == '<' && (is_public || is_standard)) return std::nullopt;
    return fault_at(include) +
           "A public header may include only <sluice/...> and the standard library, since nothing "
           "else is installed with it. Fix it: forward-declare the type and keep it behind a "
           "pointer, or move what needs it into src.";
}

std::optional<std::string> layer_fault(const Layer& from, const Include& include) {
    const std::string_view target = include.target;
    const std::string_view to = folder_of(target);
    const bool is_known = find_layer(to) != nullptr;
    if (to == from.name) return std::nullopt;
    if (!is_known && (include.opening == '<' || from.name == "sim")) return std::nullopt;
    if (!is_known) {
        return fault_at(include) +
               "That is not a known layer. Fix it: write the path from src, as in "
               "\"window/sliding.h\"; write libraries from outside in angle brackets; give a new "
               "layer a line in the table of tests/lint/layering.cc.";
    }
    const auto allows = [&](std::string_view word) { return word == to || word == target; };
    const std::vector<std::string_view> allowed = words_of(from.may_include);
    if (std::any_of(allowed.begin(), allowed.end(), allows)) return std::nullopt;
    return fault_at(include) + "Files of " + std::string(from.name) +
           " may include only this: " + std::string(from.may_include) +
           ". Fix it: move what is needed down into one of those, take it as an argument, or let "
           "a layer above both wire them. Only where the design itself changes, change the table "
           "in tests/lint/layering.cc, and ARCHITECTURE.md with it.";
}

std::vector<std::string> faults_of(const SourceFile& file) {
    const bool is_public = file.path.starts_with("include/");
    const Layer* layer = layer_of(file);
    if (!is_public && layer == nullptr) {
        return {file.path +
                ": This folder is not a known layer. Fix it: move the file into a layer of "
                "ARCHITECTURE.md, or give a new layer a line in the table of "
                "tests/lint/layering.cc."};
    }
    std::vector<std::string> faults;
    for (const Include& include : includes_of(file)) {
        auto fault = is_public ? public_fault(include) : layer_fault(*layer, include);
        if (fault) faults.push_back(*std::move(fault));
    }
    return faults;
}

}  // namespace

std::span<const Layer> layers() {
    return kLayers;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

std::vector<std::string> unused_entries(std::span<const SourceFile> files) {
    std::set<std::pair<std::string_view, std::string>> used;
    for (const SourceFile& file : files) {
        const Layer* const layer = layer_of(file);
        if (layer == nullptr) continue;
        for (const Include& include : includes_of(file)) {
            used.emplace(layer->name, include.target);
            used.emplace(layer->name, folder_of(include.target));
        }
    }
    std::vector<std::string> unused;
    for (const Layer& layer : kLayers)
        for (const std::string_view entry : words_of(layer.may_include))
            if (!used.contains({layer.name, std::string(entry)}))
                unused.push_back(std::string(layer.name) + " -> " + std::string(entry));
    return unused;
}

std::vector<std::string> layering_faults(std::span<const SourceFile> files) {
    std::vector<std::string> all;
    for (const SourceFile& file : files) {
        const std::vector<std::string> faults = faults_of(file);
        all.insert(all.end(), faults.begin(), faults.end());
    }
    return all;
}

}  // namespace sluice::lint
