#include "cli/completion.h"

#include <string_view>
#include <vector>

namespace sluice::cli {
namespace {

constexpr const char* kHead = " completion for sluice; printed by `sluice completion ";

// The text in single quotes, as all three shells read it.
std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

// The first line of a help text.
std::string summary(const std::string& help) {
    return help.substr(0, help.find('\n'));
}

std::string joined(const std::vector<std::string>& words, std::string_view separator = " ") {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : std::string(separator)) + word;
    return text;
}

// Patterns of a `case` of bash and zsh that match the name of each command behind a space, so that
// the words of a line lead from one command to the next.
std::string known_commands(const CommandHelp& tree) {
    std::string pattern;
    for (const CommandHelp* command : all_commands(tree)) {
        if (command->name.empty()) continue;
        pattern += (pattern.empty() ? "" : " | ") + in_quotes(" " + command->name);
    }
    return pattern;
}

// The patterns of an option that takes a value, behind its command.
std::string pattern_of(const CommandHelp& command, const OptionHelp& option) {
    std::string pattern;
    for (const std::string& name : option.names) {
        const std::string prefix = command.name.empty() ? "" : " " + command.name;
        pattern += (pattern.empty() ? "" : " | ") + in_quotes(prefix + " " + name);
    }
    return pattern;
}

bool has_value(const OptionHelp& option) {
    return !option.is_positional && !option.value_name.empty();
}

// What a shell offers in the place of a positional argument.
struct Positional {
    std::vector<std::string> words;
    bool takes_file = false;
};

Positional positional_of(const CommandHelp& command) {
    Positional found;
    for (const OptionHelp& option : command.options) {
        if (!option.is_positional) continue;
        found.words.insert(found.words.end(), option.words.begin(), option.words.end());
        found.takes_file = found.takes_file || option.takes_file;
    }
    return found;
}

std::string case_of(const CommandHelp& command) {
    return in_quotes(command.name.empty() ? "" : " " + command.name);
}

}  // namespace

std::string bash_completion(const CommandHelp& tree) {
    std::string values;
    std::string options;
    std::string words;
    for (const CommandHelp* command : all_commands(tree)) {
        std::vector<std::string> names;
        for (const OptionHelp& option : command->options) {
            if (option.is_positional) continue;
            names.insert(names.end(), option.names.begin(), option.names.end());
            if (!has_value(option)) continue;
            values += "        " + pattern_of(*command, option) + ")\n            " +
                      (option.takes_file ? "_sluice_files"
                                         : "_sluice_words " + in_quotes(joined(option.words))) +
                      "\n            return\n            ;;\n";
        }
        const Positional positional = positional_of(*command);
        std::vector<std::string> next = positional.words;
        for (const CommandHelp& child : command->commands)
            next.push_back(last_word(child));
        options += "            " + case_of(*command) + ") _sluice_words " +
                   in_quotes(joined(names)) + " ;;\n";
        if (positional.takes_file) {
            words += "        " + case_of(*command) + ") _sluice_files ;;\n";
        } else if (!next.empty()) {
            words += "        " + case_of(*command) + ") _sluice_words " + in_quotes(joined(next)) +
                     " ;;\n";
        }
    }
    return "# bash" + std::string(kHead) + "bash`.\n" + R"(
_sluice_words() {
    local words=$1
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

_sluice_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

_sluice() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
            )" +
           known_commands(tree) +
           R"()
                command+=" ${COMP_WORDS[i]}"
                ;;
        esac
    done
    # bash splits --option=value into three words.
    if [[ $word == '=' ]]; then
        word=
    elif [[ $previous == '=' && COMP_CWORD -ge 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case "$command $previous" in
)" + values +
           R"(    esac
    if [[ $word == -* ]]; then
        case "$command" in
)" + options +
           R"(        esac
        return
    fi
    case "$command" in
)" + words +
           R"(    esac
}

complete -F _sluice sluice
)";
}

std::string zsh_completion(const CommandHelp& tree) {
    // "name:description", as _describe wants them.
    const auto described = [](const std::string& name, const std::string& help) {
        std::string escaped;
        for (const char c : name)
            escaped += c == ':' ? "\\:" : std::string(1, c);
        return " " + in_quotes(escaped + ":" + summary(help));
    };
    std::string values;
    std::string options;
    std::string words;
    for (const CommandHelp* command : all_commands(tree)) {
        std::string names;
        for (const OptionHelp& option : command->options) {
            if (option.is_positional) continue;
            for (const std::string& name : option.names)
                names += described(name, option.help);
            if (!has_value(option)) continue;
            values += "        " + pattern_of(*command, option) + ")\n            " +
                      (option.takes_file
                           ? "_files"
                           : (option.words.empty() ? "_message " + in_quotes(option.value_name)
                                                   : "compadd -- " + joined(option.words))) +
                      "\n            return\n            ;;\n";
        }
        options += "            " + case_of(*command) + ") offered=(" + names + " ) ;;\n";
        const Positional positional = positional_of(*command);
        std::string next;
        for (const std::string& word : positional.words)
            next += described(word, "");
        for (const CommandHelp& child : command->commands)
            next += described(last_word(child), child.about);
        if (positional.takes_file) {
            words += "        " + case_of(*command) + ") _files; return ;;\n";
        } else if (!next.empty()) {
            words += "        " + case_of(*command) + ") offered=(" + next + " ) ;;\n";
        }
    }
    return "#compdef sluice\n# zsh" + std::string(kHead) + "zsh`.\n" + R"(
_sluice() {
    local command='' word=${words[CURRENT]} previous=${words[CURRENT - 1]}
    local -a offered
    local -i i
    for ((i = 2; i < CURRENT; i++)); do
        case "$command ${words[i]}" in
            )" +
           known_commands(tree) +
           R"()
                command+=" ${words[i]}"
                ;;
        esac
    done
    if [[ $word == --*=* ]]; then
        previous=${word%%=*}
        compset -P '*='
    fi
    case "$command $previous" in
)" + values +
           R"(    esac
    if [[ $word == -* ]]; then
        case "$command" in
)" + options +
           R"(        esac
        _describe -o option offered
        return
    fi
    case "$command" in
)" + words +
           R"(    esac
    _describe command offered
}

if [[ $funcstack[1] == _sluice ]]; then
    _sluice "$@"
else
    compdef _sluice sluice
fi
)";
}

std::string fish_completion(const CommandHelp& tree) {
    std::string lines;
    for (const CommandHelp* command : all_commands(tree)) {
        const std::string condition = " -n " + in_quotes("__sluice_is " + in_quotes(command->name));
        for (const CommandHelp& child : command->commands)
            lines += "complete -c sluice" + condition + " -a " + last_word(child) + " -d " +
                     in_quotes(summary(child.about)) + "\n";
        const Positional positional = positional_of(*command);
        if (!positional.words.empty())
            lines += "complete -c sluice" + condition + " -a " +
                     in_quotes(joined(positional.words)) + "\n";
        if (positional.takes_file) lines += "complete -c sluice" + condition + " -F\n";
        for (const OptionHelp& option : command->options) {
            if (option.is_positional) continue;
            std::string names;
            for (const std::string& name : option.names)
                names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            std::string value;
            if (has_value(option))
                value = option.takes_file ? " -r -F" : " -x -a " + in_quotes(joined(option.words));
            lines += "complete -c sluice" + condition + names + value + " -d " +
                     in_quotes(summary(option.help)) + "\n";
        }
    }
    std::string cases;
    for (const CommandHelp* command : all_commands(tree)) {
        if (!command->name.empty()) cases += " " + in_quotes(" " + command->name);
    }
    return "# fish" + std::string(kHead) + "fish`.\n" + R"(
# Whether the words before the cursor name this command.
function __sluice_is
    set -l command ''
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case)" +
           cases +
           R"(
                set command "$command $word"
        end
    end
    test (string trim -- "$command") = "$argv[1]"
end

complete -c sluice -f
)" + lines;
}

}  // namespace sluice::cli
