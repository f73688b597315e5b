#include "config/load.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "config/catalog.h"
#include "config/file.h"
#include "config/ratelimit_variables.h"
#include "config/value.h"
#include "url/store_url.h"

namespace sluice::config {
namespace {

constexpr std::string_view kPrefix = "SLUICE_";
constexpr std::string_view kTokensVariable = "SLUICE_SERVER_TOKENS";
constexpr std::string_view kConfigVariable = "SLUICE_CONFIG";
// Of the client commands.
constexpr std::string_view kUrlVariable = "SLUICE_URL";
constexpr std::string_view kAdminUrlVariable = "SLUICE_ADMIN_URL";
constexpr std::string_view kClientTokenVariable = "SLUICE_TOKEN";
constexpr std::array<std::string_view, 4> kClientTlsVariables = {
    "SLUICE_CA_CERT", "SLUICE_CLIENT_CERT", "SLUICE_CLIENT_KEY", "SLUICE_INSECURE"};

constexpr std::string_view kClientTokenIgnored =
    "SLUICE_TOKEN is ignored: it is the token that client commands send. The tokens that a server "
    "accepts are in SLUICE_SERVER_TOKENS or in its file; this server has none";
constexpr std::string_view kSecretAllowed = "1 to 512 visible ASCII characters";

std::vector<std::string> known_keys() {
    std::vector<std::string> keys;
    for (const Setting& setting : catalog())
        keys.emplace_back(setting.key);
    keys.emplace_back("tokens");
    return keys;
}

std::vector<std::string> known_variables() {
    std::vector<std::string> names{std::string(kConfigVariable),
                                   std::string(kTokensVariable),
                                   std::string(kUrlVariable),
                                   std::string(kAdminUrlVariable),
                                   std::string(kClientTokenVariable)};
    names.insert(names.end(), kClientTlsVariables.begin(), kClientTlsVariables.end());
    for (const Setting& setting : catalog())
        names.push_back(variable_of(setting.key));
    return names;
}

// Kubernetes sets variables for each service in the namespace. Those of a service whose name begins
// with "sluice" are not settings.
bool is_service_link(std::string_view name, std::string_view value) {
    return name.find("SERVICE_HOST") != std::string_view::npos ||
           name.find("SERVICE_PORT") != std::string_view::npos ||
           name.find("_PORT_") != std::string_view::npos ||
           (name.ends_with("_PORT") && value.find("://") != std::string_view::npos);
}

// Whether users who are neither the owner nor in the group of a file may read or change it.
bool is_open_to_others(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IRWXO) != 0;
}

// A user or a token stands before an @.
bool holds_login(const std::string& bus) {
    return bus.find('@') != std::string::npos;
}

bool holds_password(const Settings& settings) {
    return shown_origin(settings.origin) != settings.origin ||
           shown_global(settings.global) != settings.global ||
           shown_global(settings.global_replica) != settings.global_replica ||
           holds_login(settings.bus);
}

// Merges the sources; later ones override earlier ones.
class Loader {
  public:
    void take_file(const std::string& path) {
        auto text = read_text(path);
        if (!text) return problems_.push_back(std::move(text.error().message));
        loaded_.file = path;
        FileContents contents = parse_file(*text, path, problems_);
        for (const FileValue& given : contents.values)
            take(given.key, given.where, given.value);
        if (!contents.tokens_where.empty())
            set_tokens(std::move(contents.tokens), contents.tokens_where);
        const bool holds_secrets =
            !loaded_.settings.tokens.empty() || holds_password(loaded_.settings);
        if (holds_secrets && is_open_to_others(path)) {
            loaded_.warnings.push_back(
                path +
                ": every user of this machine can read or change it, and it holds tokens or a "
                "password; set its mode to 600, or to 640 with a group for the server");
        }
    }

    void take_environment(const std::map<std::string, std::string>& environment) {
        for (std::string& warning : unknown_variables(environment))
            loaded_.warnings.push_back(std::move(warning));
        for (std::string& problem : ratelimit_problems(environment))
            problems_.push_back(std::move(problem));
        for (const RatelimitValue& given : ratelimit_values(environment))
            take(given.key, given.variable, UntypedText{given.value});
        ignored_ = ignored_ratelimit_variables(environment);
        for (const Setting& setting : catalog()) {
            const auto given = environment.find(variable_of(setting.key));
            if (given != environment.end())
                take(setting.key, given->first, UntypedText{given->second});
        }
        const auto secrets = environment.find(std::string(kTokensVariable));
        if (secrets != environment.end()) take_secrets(words_of(secrets->second), kTokensVariable);
        has_client_token_ = environment.contains(std::string(kClientTokenVariable));
    }

    void take_flags(const std::map<std::string, std::string>& flags) {
        for (const auto& [key, value] : flags)
            take(key, flag_of(key), UntypedText{value});
    }

    void take_sockets(const std::map<std::string, std::string>& sockets) {
        for (const auto& [key, address] : sockets)
            take(key, "LISTEN_FDS", UntypedText{address});
    }

    // `where` is a flag or a variable. The secrets are never shown.
    void take_secrets(const std::vector<std::string>& secrets, std::string_view where) {
        std::vector<Token> tokens;
        for (const std::string& secret : secrets) {
            if (!is_valid_secret(secret)) {
                problems_.push_back(not_allowed({std::string(where), "token", std::string(kHidden)},
                                                kSecretAllowed));
                continue;
            }
            Token token = all_powerful_token(
                std::string(where) + " " + std::to_string(tokens.size() + 1), secret);
            const auto is_same = [&](const Token& other) { return other.sha256 == token.sha256; };
            if (std::none_of(tokens.begin(), tokens.end(), is_same))
                tokens.push_back(std::move(token));
        }
        const bool fits = !secrets.empty() && secrets.size() <= kMaxTokens;
        if (!fits) {
            problems_.push_back(not_allowed(
                {std::string(where), "token", std::to_string(secrets.size()) + " tokens"},
                "1 to 1000 of them"));
        }
        set_tokens(std::move(tokens), std::string(where));
    }

    void check_together();
    void check_plain_http();
    void check_grpc();
    void check_global();
    void check_bus();
    void check_rules();

    Result<Loaded> finish() {
        if (problems_.empty()) check_together();
        if (has_client_token_ && loaded_.settings.tokens.empty())
            loaded_.warnings.emplace_back(kClientTokenIgnored);
        if (!loaded_.settings.rules.empty() && !ignored_.empty()) warn_of_ignored();
        if (problems_.empty()) return std::move(loaded_);
        std::string message;
        for (const std::string& problem : problems_)
            message += (message.empty() ? "" : "\n") + problem;
        return Error{kInvalidOption, std::move(message)};
    }

  private:
    static std::string shown(std::string_view name, const Value& value) {
        std::string text = as_written(value);
        // An invalid URL may have its password anywhere, as in redis://:password without a host. In
        // other values, the part before an @ may be one.
        const bool is_url =
            name == "origin" || name == "global" || name == "global_replica" || name == "bus";
        const bool may_hold_secret = is_url || text.find('@') != std::string::npos;
        return sounds_secret(name) || may_hold_secret ? std::string(kHidden) : text;
    }
    static std::vector<std::string> words_of(const std::string& text) {
        std::istringstream stream(text);
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
            words.push_back(word);
        return words;
    }

    void take(std::string_view key, const std::string& where, const Value& value) {
        const GivenSetting given{where, std::string(key), shown(key, value)};
        const Setting* const setting = find_setting(key);
        if (setting == nullptr) return problems_.push_back(unknown_setting(given, known_keys()));
        if (!setting->set(loaded_.settings, value))
            return problems_.push_back(not_allowed(given, setting->allowed));
        loaded_.origins[given.setting] = where;
    }

    void warn_of_ignored() {
        std::string names;
        for (const std::string& name : ignored_)
            names += (names.empty() ? "" : ", ") + name;
        loaded_.warnings.push_back("variables of envoyproxy/ratelimit that are ignored: " + names);
    }

    void set_tokens(std::vector<Token> tokens, const std::string& where) {
        loaded_.settings.tokens = std::move(tokens);
        loaded_.origins["tokens"] = where;
    }

    void refuse(const std::string& key, std::string_view allowed) {
        const auto origin = loaded_.origins.find(key);
        const std::string where = origin == loaded_.origins.end() ? "default" : origin->second;
        problems_.push_back(
            not_allowed({where, key, find_setting(key)->show(loaded_.settings)}, allowed));
    }

    Loaded loaded_;
    SettingProblems problems_;
    bool has_client_token_ = false;
    std::vector<std::string> ignored_;  // variables of envoyproxy/ratelimit
};

// Checks settings that depend on each other.
void Loader::check_together() {
    const Settings& settings = loaded_.settings;
    const bool is_open = !is_loopback(settings.listen);
    if (is_open && settings.tokens.empty()) {
        refuse("listen",
               "an address on loopback, such as 127.0.0.1:8080, as long as there is no token: "
               "anyone who can reach the address could use the server. `sluice token` creates a "
               "token" +
                   std::string(has_client_token_ ? "; SLUICE_TOKEN is for clients, a server's "
                                                   "tokens are in SLUICE_SERVER_TOKENS"
                                                 : ""));
    }
    if (settings.admin_listen && !is_loopback(*settings.admin_listen) && settings.tokens.empty()) {
        refuse("admin_listen",
               "an address on loopback, such as 127.0.0.1:9090, as long as there is no token that "
               "protects the metrics. `sluice token` creates a token");
    }
    check_plain_http();
    check_grpc();
    if (is_open && settings.test_clock) {
        refuse("test_clock",
               "false unless the server listens on loopback: its clients choose the time");
    }
    check_global();
    check_bus();
    check_rules();
    const OriginTlsSettings& origin_tls = settings.origin_tls;
    if (!origin_tls.ca.empty() && !settings.origin.starts_with("rediss")) {
        refuse("origin", "a rediss:// or rediss+sentinel:// URL, since origin_tls.ca is set");
    }
    if (!origin_tls.cert.empty() && !settings.origin.starts_with("rediss")) {
        refuse("origin", "a rediss:// or rediss+sentinel:// URL, since origin_tls.cert is set");
    }
    if (origin_tls.cert.empty() && !origin_tls.key.empty()) {
        refuse("origin_tls.cert", "the path of a file, since origin_tls.key is set");
    }
    if (!origin_tls.cert.empty() && origin_tls.key.empty()) {
        refuse("origin_tls.key", "the path of a file, since origin_tls.cert is set");
    }
    if (settings.tls.cert.empty() && !settings.tls.client_ca.empty()) {
        refuse("tls.cert", "the path of a file, since tls.client_ca is set");
    }
    if (settings.tls.cert.empty() && !settings.tls.key.empty()) {
        refuse("tls.cert", "the path of a file, since tls.key is set");
    }
    if (!settings.tls.cert.empty() && settings.tls.key.empty()) {
        refuse("tls.key", "the path of a file, since tls.cert is set");
    }
}

// A token that can be read on the network can be used by others.
void Loader::check_plain_http() {
    const Settings& settings = loaded_.settings;
    const bool is_accepted =
        settings.tls.enabled() || settings.behind_proxy || settings.insecure_http;
    if (is_accepted || settings.tokens.empty()) return;
    constexpr std::string_view kAllowed =
        "an address on loopback as long as tokens are sent over plain HTTP, which anyone on the "
        "network path can read. Set tls.cert and tls.key, or --behind-proxy if a proxy in front "
        "terminates "
        "TLS, or --insecure-http to accept that";
    if (!is_loopback(settings.listen)) refuse("listen", kAllowed);
    if (settings.admin_listen && !is_loopback(*settings.admin_listen))
        refuse("admin_listen", kAllowed);
}

// Tokens are for the HTTP API: a call is authorised by the certificate of its connection.
void Loader::check_grpc() {
    const Settings& settings = loaded_.settings;
    if (!settings.grpc.listen || is_loopback(*settings.grpc.listen)) return;
    if (!settings.tls.client_ca.empty() || settings.grpc.insecure) return;
    refuse("grpc.listen",
           "an address on loopback, such as 127.0.0.1:8081, as long as clients need no "
           "certificate: anyone who can reach the address could spend limits. Set tls.cert, "
           "tls.key and tls.client_ca, or --grpc-insecure to accept that");
}

void Loader::check_global() {
    const Settings& settings = loaded_.settings;
    if (!settings.global_replica.empty() && !settings.global.starts_with("mysql:")) {
        refuse("global", "a mysql:// URL, since global_replica is set");
    }
    if (!settings.global.empty() && !loaded_.origins.contains("region")) {
        refuse("region",
               "a name that no other region has, by --region, SLUICE_REGION or the file, since "
               "global is set: regions with the same name would mistake each other's counts for "
               "their own");
    }
    if (settings.global_cleanup && settings.global.empty()) {
        refuse("global_cleanup", "false as long as global is not set");
    }
    if (settings.test_global_interval.count() > 0 && !settings.test_clock) {
        refuse("test_global_interval", "0s unless test_clock is true: it is for tests alone");
    }
}

void Loader::check_bus() {
    const Settings& settings = loaded_.settings;
    const BusTlsSettings& tls = settings.bus_tls;
    if (!settings.bus.empty() && settings.global.empty()) {
        refuse("bus", "none as long as global is not set, which carries what a bus loses");
    }
    const bool is_used = !settings.bus.empty();
    if (!is_used && !settings.bus_credentials.empty()) {
        refuse("bus", "a nats:// or tls:// URL, since bus_credentials is set");
    }
    if (!is_used && !settings.bus_workspaces.empty()) {
        refuse("bus", "a nats:// or tls:// URL, since bus_workspaces is set");
    }
    if (!tls.ca.empty() && !settings.bus.starts_with("tls:")) {
        refuse("bus", "a tls:// URL, since bus_tls.ca is set");
    }
    if (!tls.cert.empty() && !settings.bus.starts_with("tls:")) {
        refuse("bus", "a tls:// URL, since bus_tls.cert is set");
    }
    if (tls.cert.empty() && !tls.key.empty()) {
        refuse("bus_tls.cert", "the path of a file, since bus_tls.key is set");
    }
    if (!tls.cert.empty() && tls.key.empty()) {
        refuse("bus_tls.key", "the path of a file, since bus_tls.cert is set");
    }
}

void Loader::check_rules() {
    const RulesTlsSettings& tls = loaded_.settings.rules_tls;
    for (const auto& [key, value] : {std::pair{"rules_tls.ca", &tls.ca},
                                     std::pair{"rules_tls.cert", &tls.cert},
                                     std::pair{"rules_tls.server_name", &tls.server_name}}) {
        if (!value->empty() && !loaded_.settings.rules.starts_with("xdss://"))
            return refuse("rules", "an xdss:// URL, since " + std::string(key) + " is set");
    }
    if (tls.cert.empty() && !tls.key.empty())
        refuse("rules_tls.cert", "the path of a file, since rules_tls.key is set");
    if (!tls.cert.empty() && tls.key.empty())
        refuse("rules_tls.key", "the path of a file, since rules_tls.cert is set");
}

std::string origin_of(const Loaded& loaded, std::string_view key) {
    const auto origin = loaded.origins.find(std::string(key));
    return origin == loaded.origins.end() ? "default" : origin->second;
}

std::string list_of(const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts)
        list += (list.empty() ? "" : ", ") + quoted(text);
    return "[" + list + "]";
}

std::string permissions_of(const Permissions& permissions) {
    std::vector<std::string> names;
    if (permissions.limit) names.emplace_back("limit");
    if (permissions.read_override) names.emplace_back("read_override");
    if (permissions.set_override) names.emplace_back("set_override");
    if (permissions.delete_override) names.emplace_back("delete_override");
    if (permissions.read_metrics) names.emplace_back("read_metrics");
    if (permissions.read_keys) names.emplace_back("read_keys");
    return list_of(names);
}

}  // namespace

Result<Loaded> load_settings(const Sources& sources) {
    const auto named = sources.environment.find(std::string(kConfigVariable));
    const bool is_named = sources.file.empty() && named != sources.environment.end();
    const std::string& file = is_named ? named->second : sources.file;
    Loader loader;
    if (!file.empty()) loader.take_file(file);
    loader.take_environment(sources.environment);
    loader.take_flags(sources.flags);
    loader.take_sockets(sources.sockets);
    if (!sources.tokens.empty()) loader.take_secrets(sources.tokens, "--token");
    return loader.finish();
}

std::vector<std::string> unknown_variables(const std::map<std::string, std::string>& environment) {
    const std::vector<std::string> known = known_variables();
    // Compared without the prefix, which would make all of them similar.
    std::vector<std::string> endings;
    for (const std::string& name : known)
        endings.push_back(name.substr(kPrefix.size()));
    std::vector<std::string> warnings;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kPrefix) || is_service_link(name, value)) continue;
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string meant = nearest(std::string_view(name).substr(kPrefix.size()), endings);
        warnings.push_back(
            quoted(name) + " in the environment is ignored: there is no such variable" +
            (meant.empty() ? "" : "; did you mean " + std::string(kPrefix) + meant + "?"));
    }
    return warnings;
}

std::map<std::string, std::string> sluice_environment() {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        if (!text.starts_with(kPrefix) && !is_ratelimit_variable(text.substr(0, equals))) continue;
        variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

std::string describe(const Loaded& loaded, Shown shown) {
    std::string text;
    for (const Setting& setting : catalog()) {
        const bool is_given = loaded.origins.contains(std::string(setting.key));
        if (shown == Shown::kGiven && !is_given) continue;
        text += std::string(setting.key) + " = " + setting.show(loaded.settings) + "  # " +
                origin_of(loaded, setting.key) + "\n";
    }
    for (const Token& token : loaded.settings.tokens) {
        text += "\n[[tokens]]  # " + origin_of(loaded, "tokens") + "\n";
        text += "name = " + quoted(token.name) + "\nworkspace = " + quoted(token.workspace) + "\n";
        text += "namespaces = " + list_of(token.namespaces) +
                "\npermissions = " + permissions_of(token.permissions) + "\n";
    }
    return text;
}

}  // namespace sluice::config
