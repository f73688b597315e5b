// `sluice completion` and `manual`: what a package installs beside the program.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/manual.h"

namespace sluice::cli {
namespace {

constexpr const char* kCompletionFooter = R"(Packages install these scripts. By hand:

Examples:
  source <(sluice completion bash)
  source <(sluice completion zsh)
  sluice completion fish > ~/.config/fish/completions/sluice.fish)";

constexpr const char* kManualFooter = R"(Packages install these pages.

Example:
  sluice manual sluice.toml.5 | man -l -)";

std::string completion_for(const std::string& shell, const CommandHelp& tree) {
    if (shell == "bash") return bash_completion(tree);
    if (shell == "zsh") return zsh_completion(tree);
    return fish_completion(tree);
}

void add_completion(Commands& commands) {
    CLI::App& completion =
        commands.add("completion", "Print a completion script for a shell", kCompletionFooter);
    const auto shell = std::make_shared<std::string>();
    completion.add_option("SHELL", *shell, "The shell")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
    commands.set_run(completion, [shell, &root = commands.root()](const Environment& environment) {
        environment.out << completion_for(*shell, command_tree(root));
        return ExitCode::kOk;
    });
}

void add_manual(Commands& commands) {
    CLI::App& manual = commands.add("manual", "Print a manual page, for man(1)", kManualFooter);
    const auto page = std::make_shared<std::string>();
    manual.add_option("PAGE", *page, "The page")->required()->check(CLI::IsMember(manual_pages()));
    commands.set_run(manual, [page, &root = commands.root()](const Environment& environment) {
        environment.out << manual_page(*page, command_tree(root)).value_or("");
        return ExitCode::kOk;
    });
}

}  // namespace

void add_shell_commands(Commands& commands) {
    add_completion(commands);
    add_manual(commands);
}

}  // namespace sluice::cli
