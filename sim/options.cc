#include "sim/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include <toml++/toml.h>

#include "config/duration.h"
#include "config/file.h"
#include "global/policy.h"

namespace sluice::sim {
namespace {

using Setter = bool (*)(const std::string& value, Options& options);

template <class Number>
bool set_number(const std::string& text, Number& to, Number least, Number most) {
    Number value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size()) return false;
    if (value < least || value > most) return false;
    to = value;
    return true;
}

bool set_share(const std::string& text, Permille& to, Permille most) {
    const auto share = parse_permille(text);
    if (!share || *share > most) return false;
    to = *share;
    return true;
}

bool set_share(const std::string& text, std::optional<Permille>& to) {
    Permille share = 0;
    if (!set_share(text, share, 1'000'000)) return false;
    to = share;
    return true;
}

template <class Time>
bool set_time(const std::string& text, Time& to) {
    const auto time = config::parse_duration(text);
    if (time) to = *time;
    return time.has_value();
}

bool set_bool(const std::string& text, bool& to) {
    to = text == "true";
    return to || text == "false";
}

bool set_spread(const std::string& text, Options& options) {
    constexpr std::array kSpreads = {std::pair{"even", Spread::kEven},
                                     std::pair{"single", Spread::kSingle},
                                     std::pair{"zipf", Spread::kZipf},
                                     std::pair{"rotating", Spread::kRotating},
                                     std::pair{"skewed", Spread::kSkewed}};
    for (const auto& [name, spread] : kSpreads) {
        if (text != name) continue;
        options.load.spread = spread;
        return true;
    }
    return false;
}

bool set_policy(const std::string& text, Options& options) {
    const auto policies = publish_policies();
    if (std::ranges::find(policies, text, &NamedPolicy::name) == policies.end()) return false;
    options.policy = text;
    return true;
}

constexpr std::uint32_t kMostRegions = 64;
constexpr std::uint32_t kMostNodesPerRegion = 64;
constexpr std::uint32_t kMostNodes = kMostRegions * kMostNodesPerRegion;
constexpr std::uint32_t kMostKeys = 4'000'000;

struct Setting {
    std::string_view name;
    const char* allowed;
    Setter set;
};

constexpr std::array kSettings = {
    Setting{"name", "a text", [](const std::string& v, Options& o) { return o.name = v, true; }},
    Setting{"seed",
            "a whole number",
            [](const std::string& v, Options& o) {
                return set_number(v, o.seed, std::uint64_t{0}, ~std::uint64_t{0});
            }},
    Setting{"regions",
            "1 to 64",
            [](const std::string& v, Options& o) {
                const std::uint32_t each = std::max(o.nodes / o.regions, 1U);
                if (!set_number(v, o.regions, 1U, kMostRegions)) return false;
                o.nodes = each * o.regions;
                return true;
            }},
    Setting{
        "nodes",
        "1 to 4096, of all regions",
        [](const std::string& v, Options& o) { return set_number(v, o.nodes, 1U, kMostNodes); }},
    Setting{"nodes-per-region",
            "1 to 64",
            [](const std::string& v, Options& o) {
                std::uint32_t each = 0;
                if (!set_number(v, each, 1U, kMostNodesPerRegion)) return false;
                o.nodes = each * o.regions;
                return true;
            }},
    Setting{"max-keys",
            "1 to 10000000",
            [](const std::string& v, Options& o) {
                return set_number(v, o.max_keys, std::size_t{1}, std::size_t{10'000'000});
            }},
    Setting{"limit",
            "1 to 1000000000000",
            [](const std::string& v, Options& o) {
                return set_number(v, o.load.limit, Count{1}, Count{1'000'000'000'000});
            }},
    Setting{"duration",
            "1s to 366d",
            [](const std::string& v, Options& o) {
                return set_time(v, o.load.duration) && o.load.duration >= kMinDuration &&
                       o.load.duration <= kMaxDuration;
            }},
    Setting{"load",
            "a multiple of the limit, such as 0.9 or 30",
            [](const std::string& v, Options& o) { return set_share(v, o.load.times, 1'000'000); }},
    Setting{"spread", "even, single, zipf, rotating or skewed", set_spread},
    Setting{
        "keys",
        "1 to 4000000",
        [](const std::string& v, Options& o) { return set_number(v, o.load.keys, 1U, kMostKeys); }},
    Setting{"popular-keys",
            "true or false",
            [](const std::string& v, Options& o) { return set_bool(v, o.load.popular_keys); }},
    Setting{"overlap",
            "a share, such as 0.05",
            [](const std::string& v, Options& o) { return set_share(v, o.load.overlap, 1'000); }},
    Setting{"batches",
            "a share, such as 0.2",
            [](const std::string& v, Options& o) { return set_share(v, o.load.batches, 1'000); }},
    Setting{"peeks",
            "a share, such as 0.1",
            [](const std::string& v, Options& o) { return set_share(v, o.load.peeks, 1'000); }},
    Setting{"most-cost",
            "1 to 1000000",
            [](const std::string& v, Options& o) {
                return set_number(v, o.load.most_cost, Count{1}, Count{1'000'000});
            }},
    Setting{"churn",
            "a share per duration, such as 0.5",
            [](const std::string& v, Options& o) { return set_share(v, o.load.churn, 10'000); }},
    Setting{
        "long-names",
        "a share, such as 0.1",
        [](const std::string& v, Options& o) { return set_share(v, o.load.long_names, 1'000); }},
    Setting{"poisson",
            "true or false",
            [](const std::string& v, Options& o) { return set_bool(v, o.load.is_poisson); }},
    Setting{"starts",
            "a time, such as 5s",
            [](const std::string& v, Options& o) { return set_time(v, o.load.starts); }},
    Setting{"for",
            "a time, such as 3m",
            [](const std::string& v, Options& o) {
                return set_time(v, o.lasts) && o.lasts >= std::chrono::seconds{1};
            }},
    Setting{"begins",
            "a time after the beginning of a window, such as 59s",
            [](const std::string& v, Options& o) { return set_time(v, o.begins); }},
    Setting{"bus",
            "the average delay of announcements, such as 100ms",
            [](const std::string& v, Options& o) { return set_time(v, o.bus.emplace()); }},
    Setting{"policy", "adaptive, half, quarter or always", set_policy},
    Setting{
        "promise.no-false-denial",
        "true or false",
        [](const std::string& v, Options& o) { return set_bool(v, o.promise.no_false_denial); }},
    Setting{"promise.most-trailing",
            "a multiple of the limit",
            [](const std::string& v, Options& o) { return set_share(v, o.promise.most_trailing); }},
    Setting{"promise.most-window",
            "a multiple of the limit",
            [](const std::string& v, Options& o) { return set_share(v, o.promise.most_window); }},
    Setting{"promise.least-steady",
            "a multiple of the limit",
            [](const std::string& v, Options& o) { return set_share(v, o.promise.least_steady); }},
};

std::string text_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return {};
}

std::optional<Error> read_table(const toml::table& table,
                                const std::string& under,
                                Options& options) {
    for (const auto& [key, node] : table) {
        const std::string name = under + std::string(key.str());
        if (const auto* inner = node.as_table()) {
            if (auto error = read_table(*inner, name + ".", options)) return error;
        } else if (const auto* list = node.as_array(); list != nullptr && name == "faults") {
            for (const toml::node& fault : *list)
                if (auto error = add_fault(text_of(fault), options.faults)) return error;
        } else if (auto error = set_option(name, text_of(node), options)) {
            return error;
        }
    }
    return std::nullopt;
}

}  // namespace

Options default_scenario() {
    Options options;
    options.name =
        "3 regions of 2 nodes: an origin becomes unavailable, a node dies, the store becomes "
        "unavailable";
    for (const char* fault :
         {"origin-down:region-1@40s+15s", "crash:node-2@70s+5s", "store-down@85s+25s"})
        add_fault(fault, options.faults);
    return options;
}

std::optional<Error> set_option(std::string_view name, const std::string& value, Options& options) {
    const auto setting = std::ranges::find(kSettings, name, &Setting::name);
    if (setting == kSettings.end()) {
        std::string all;
        for (const Setting& known : kSettings)
            all += (all.empty() ? "" : ", ") + std::string(known.name);
        return Error{kInvalidOption,
                     "unknown option \"" + std::string(name) + "\"; allowed: faults, " + all};
    }
    if (setting->set(value, options)) return std::nullopt;
    return Error{kInvalidOption,
                 std::string(name) + " is \"" + value + "\"; allowed: " + setting->allowed};
}

std::optional<Error> check_options(const Options& options) {
    if (options.nodes < options.regions)
        return Error{kInvalidOption,
                     std::to_string(options.nodes) + " nodes in " +
                         std::to_string(options.regions) +
                         " regions; allowed: a node in each region at least"};
    for (const Fault& fault : options.faults.scheduled) {
        const bool has_origin =
            fault.target.kind != Target::Kind::kRegion || fault.target.index < options.regions;
        const bool has_node =
            fault.target.kind != Target::Kind::kNode || fault.target.index < options.nodes;
        if (!has_origin || !has_node)
            return Error{kInvalidOption,
                         "--fault is \"" + fault.spec + "\": there is no such target in " +
                             std::to_string(options.regions) + " regions of " +
                             std::to_string(options.nodes) + " nodes together"};
    }
    return std::nullopt;
}

Result<Options> load_scenario(const std::string& path) {
    const auto text = config::read_text(path);
    if (!text) return text.error();
    try {
        Options options;
        options.name = path;
        const toml::table table = toml::parse(*text);
        // The size of the fleet first: other options depend on it, and tables are sorted by name.
        for (const char* first : {"regions", "nodes-per-region", "nodes"})
            if (const auto* node = table.get(first))
                if (auto error = set_option(first, text_of(*node), options))
                    return Error{kInvalidOption, path + ": " + error->message};
        toml::table remaining = table;
        for (const char* first : {"regions", "nodes-per-region", "nodes"})
            remaining.erase(first);
        if (auto error = read_table(remaining, "", options))
            return Error{kInvalidOption, path + ": " + error->message};
        if (auto error = check_options(options))
            return Error{kInvalidOption, path + ": " + error->message};
        return options;
    } catch (const toml::parse_error& error) {
        return Error{kInvalidOption,
                     path + ":" + std::to_string(error.source().begin.line) +
                         ": this is not TOML: " + std::string(error.description())};
    }
}

}  // namespace sluice::sim
