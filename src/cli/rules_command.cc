// `sluice rules`: which rules a file or folder holds, and which of them applies to a descriptor.
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "config/duration.h"
#include "config/settings.h"
#include "rls/rule_file.h"
#include "rls/rules.h"
#include "server/rule_subscription.h"
#include "url/xds_url.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    R"(The rules are those of --rules or SLUICE_RULES: a file or a folder of YAML, or those that an
xDS server has for a node: xds://HOST:PORT?node=ID. With xdss://, SLUICE_RULES_TLS_* name the
files of TLS.

Examples:
  sluice rules list --rules rules.yaml
  sluice rules list --rules 'xds://127.0.0.1:18000?node=default'
  sluice rules match web remote_address=10.0.0.1 path=/login --rules rules.yaml)";

constexpr const char* kMatchFooter =
    R"(Exits with 0 if a rule applies, 1 if none does and 2 if the rules are invalid.

Example:
  sluice rules match web remote_address=10.0.0.1 path=/login --rules rules.yaml)";

struct RulesArguments {
    std::string path;
    bool merge_domains = false;
    std::string domain;
    std::vector<std::string> entries;
};

// The rules that a management server sends first.
Result<std::shared_ptr<const rls::RuleSet>> fetch(const std::string& url,
                                                  const RulesArguments& arguments,
                                                  const Environment& environment) {
    config::Settings settings;
    settings.rules = url;
    settings.rls.merge_domains = arguments.merge_domains;
    settings.rules_tls = {.ca = variable(environment, "SLUICE_RULES_TLS_CA"),
                          .cert = variable(environment, "SLUICE_RULES_TLS_CERT"),
                          .key = variable(environment, "SLUICE_RULES_TLS_KEY"),
                          .server_name = variable(environment, "SLUICE_RULES_TLS_SERVER_NAME")};
    return server::fetch_rules(settings, std::chrono::seconds{10});
}

Result<std::shared_ptr<const rls::RuleSet>> load(const RulesArguments& arguments,
                                                 const Environment& environment) {
    const std::string path =
        arguments.path.empty() ? variable(environment, "SLUICE_RULES") : arguments.path;
    if (path.empty()) {
        return Error{kInvalidOption,
                     "--rules is missing; allowed is the path of a file or folder or the URL of an "
                     "xDS server, also in SLUICE_RULES"};
    }
    if (is_xds_url(path)) return fetch(path, arguments, environment);
    return rls::load_rules(
        path, arguments.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse);
}

void print_warnings(const rls::RuleSet& rules,
                    const CLI::App& command,
                    const Environment& environment) {
    for (const std::string& warning : rules.warnings())
        environment.err << "sluice " << full_name(command) << ": warning: " << warning << "\n";
}

// "100 per minute", "5 per 30s", "unlimited".
std::string limit_of(const rls::LimitRule& rule) {
    if (rule.unlimited) return "unlimited";
    std::string unit(rls::name_of(rule.unit));
    std::ranges::transform(
        unit, unit.begin(), [](char letter) { return static_cast<char>(letter - 'A' + 'a'); });
    return std::to_string(rule.requests_per_unit) + " per " +
           (rule.unit == rls::Unit::kUnknown ? config::to_string(rule.duration) : unit);
}

std::string modes_of(const rls::LimitRule& rule) {
    std::string modes;
    if (rule.shadow_mode) modes += ", shadow mode";
    if (rule.quota_mode) modes += ", quota mode";
    if (!rule.name.empty()) modes += ", name " + rule.name;
    for (const std::string& name : rule.replaces)
        modes += ", replaces " + name;
    return modes;
}

ExitCode list(const RulesArguments& arguments,
              const CLI::App& command,
              const Environment& environment) {
    const auto rules = load(arguments, environment);
    if (!rules) return fail(command, rules.error(), environment);
    print_warnings(**rules, command, environment);
    std::size_t width = 0;
    for (const rls::LimitRule& rule : (*rules)->rules())
        width = std::max(width, rule.full_key.size());
    for (const rls::LimitRule& rule : (*rules)->rules())
        environment.out << std::left << std::setw(static_cast<int>(width)) << rule.full_key << "  "
                        << limit_of(rule) << modes_of(rule) << "  # " << rule.location << "\n";
    return ExitCode::kOk;
}

std::string answer_of(const rls::LimitRule& rule) {
    if (rule.unlimited) return "OK, always";
    if (rule.shadow_mode) return "OK, always: the rule is in shadow mode";
    const std::string window = config::to_string(rule.duration);
    const std::string over = rule.quota_mode
                                 ? "OVER_LIMIT, which denies if all quotas of the request are"
                                 : "OVER_LIMIT";
    return "OK for " + std::to_string(rule.requests_per_unit) + " hits in any " + window +
           ", then " + over;
}

ExitCode match(const RulesArguments& arguments,
               const CLI::App& command,
               const Environment& environment) {
    const auto rules = load(arguments, environment);
    if (!rules) return fail(command, rules.error(), environment);
    print_warnings(**rules, command, environment);
    std::vector<rls::DescriptorEntry> entries;
    for (const std::string& text : arguments.entries) {
        const std::string_view entry = text;
        const std::size_t equals = std::min(entry.find('='), entry.size());
        entries.push_back({.key = entry.substr(0, equals),
                           .value = entry.substr(std::min(equals + 1, entry.size()))});
    }
    std::string identifier;
    const rls::LimitRule* const rule = (*rules)->match(arguments.domain, entries, identifier);
    if (rule == nullptr) {
        environment.out << ((*rules)->has_domain(arguments.domain)
                                ? "no rule applies\n"
                                : "no rule applies: the domain is unknown\n")
                        << "answer      OK, without a limit\n";
        return ExitCode::kDenied;
    }
    environment.out << "rule        " << rule->full_key << " (" << rule->location << ")\n"
                    << "limit       " << limit_of(*rule) << modes_of(*rule) << "\n"
                    << "identifier  " << identifier << "\n"
                    << "answer      " << answer_of(*rule) << "\n";
    return ExitCode::kOk;
}

void add_common(CLI::App& command, RulesArguments& arguments) {
    command.add_option("--rules", arguments.path, "A file, a folder or an xds:// URL")
        ->type_name("PATH");
    command.add_flag(
        "--merge-domains", arguments.merge_domains, "Let several files hold rules of a domain");
}

}  // namespace

void add_rules_command(Commands& commands) {
    CLI::App& rules =
        commands.add("rules", "List and match the rules of the rate-limit service", kFooter);
    rules.require_subcommand(1);
    const auto arguments = std::make_shared<RulesArguments>();

    CLI::App& lists = *rules.add_subcommand("list", "List all rules, with file and line");
    add_common(lists, *arguments);
    commands.set_run(lists, [arguments, &lists](const Environment& environment) {
        return list(*arguments, lists, environment);
    });

    CLI::App& matches =
        *rules.add_subcommand("match", "Show the rule that applies to a descriptor");
    matches.footer(kMatchFooter);
    matches.add_option("DOMAIN", arguments->domain, "The domain of the request")->required();
    matches.add_option("ENTRY", arguments->entries, "The entries of the descriptor, as KEY=VALUE")
        ->required();
    add_common(matches, *arguments);
    commands.set_run(matches, [arguments, &matches](const Environment& environment) {
        return match(*arguments, matches, environment);
    });
}

}  // namespace sluice::cli
