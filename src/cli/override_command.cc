#include "cli/override_command.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "cli/http_client.h"
#include "cli/json_text.h"
#include "cli/server_error.h"
#include "config/duration.h"
#include "config/value.h"

namespace sluice::cli {
namespace {

using Json = simdjson::dom::element;

// The most that one page may hold.
constexpr int kPageSize = 100;

const char* path_of(OverrideAction action) {
    switch (action) {
        case OverrideAction::kSet:
            return "/v2/ratelimit.setOverride";
        case OverrideAction::kGet:
            return "/v2/ratelimit.getOverride";
        case OverrideAction::kList:
            return "/v2/ratelimit.listOverrides";
        case OverrideAction::kDelete:
            return "/v2/ratelimit.deleteOverride";
    }
    return "";
}

const char* name_of(OverrideAction action) {
    switch (action) {
        case OverrideAction::kSet:
            return "set";
        case OverrideAction::kGet:
            return "get";
        case OverrideAction::kList:
            return "list";
        case OverrideAction::kDelete:
            return "delete";
    }
    return "";
}

std::string body_of(const OverrideCommand& command, const std::string& cursor) {
    std::string body = "{\"namespace\":" + json_text(command.name_space);
    if (command.action == OverrideAction::kList) {
        body += ",\"limit\":" + std::to_string(kPageSize);
        if (!cursor.empty()) body += ",\"cursor\":" + json_text(cursor);
    } else {
        body += ",\"identifier\":" + json_text(command.identifier);
    }
    if (command.action == OverrideAction::kSet) {
        body += ",\"limit\":" + std::to_string(command.limit) +
                ",\"duration\":" + std::to_string(command.duration.count());
    }
    return body + "}";
}

// Where the first of the control characters U+0080 to U+009F stands, in UTF-8.
std::size_t find_c1(std::string_view text) {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        const auto next = static_cast<unsigned char>(text[at + 1]);
        if (text[at] == '\xC2' && next >= 0x80 && next <= 0x9F) return at;
    }
    return std::string_view::npos;
}

std::string with_c1_escaped(std::string text) {
    for (std::size_t at = find_c1(text); at != std::string::npos; at = find_c1(text)) {
        const char high = text[at + 1] < '\x90' ? '8' : '9';
        const char low = "0123456789abcdef"[static_cast<unsigned char>(text[at + 1]) & 0x0FU];
        text.replace(at, 2, std::string("\\u00") + high + low);
    }
    return text;
}

// An identifier as a terminal may show it: control characters could do anything there.
std::string shown(std::string_view text) {
    const bool is_plain = !text.empty() && find_c1(text) == std::string_view::npos &&
                          std::none_of(text.begin(), text.end(), [](char c) {
                              return (c >= 0 && c <= ' ') || c == 0x7f || c == '"' || c == '\\';
                          });
    return is_plain ? std::string(text) : with_c1_escaped(config::quoted(text));
}

struct Entry {
    std::string id;
    std::string identifier;
    std::int64_t limit = 0;
    std::int64_t duration = 0;
};

std::optional<Entry> entry_in(const Json& json) {
    Entry entry;
    std::string_view id;
    std::string_view identifier;
    const bool is_complete = json["overrideId"].get(id) == simdjson::SUCCESS &&
                             json["identifier"].get(identifier) == simdjson::SUCCESS &&
                             json["limit"].get(entry.limit) == simdjson::SUCCESS &&
                             json["duration"].get(entry.duration) == simdjson::SUCCESS;
    if (!is_complete) return std::nullopt;
    entry.id = id;
    entry.identifier = identifier;
    return entry;
}

// "alice: 10 per 60s (ovr_...)"
void print(const Entry& entry, std::ostream& out) {
    out << shown(entry.identifier) << ": " << entry.limit << " per "
        << config::to_string(std::chrono::milliseconds(entry.duration)) << " (" << shown(entry.id)
        << ")\n";
}

// One run of the command: its requests, and what is printed of their answers.
class Run {
  public:
    Run(const OverrideCommand& command, std::ostream& out, std::ostream& err)
        : command_(command), out_(out), err_(err) {}

    ExitCode run() { return command_.action == OverrideAction::kList ? list() : single(); }

  private:
    // Sends one request. Returns none, with `code_` set and the reason reported, unless it
    // succeeds.
    std::optional<Json> ask(const std::string& cursor = {}) {
        auto answer = post_json(
            command_.target, path_of(command_.action), body_of(command_, cursor), command_.timeout);
        if (!answer) return fail(answer.error().message);
        body_ = std::move(answer->body);
        Json document;
        if (parser_.parse(body_).get(document) != simdjson::SUCCESS)
            return fail(answered(answer->status, "not JSON; is it Sluice?"));
        if (answer->status == 404) code_ = ExitCode::kDenied;
        if (answer->status == 200 && document["data"].error() == simdjson::SUCCESS) return document;
        return fail(answered(answer->status, detail_in(document)));
    }

    static std::string answered(int status, const std::string& what) {
        return "the server answered " + std::to_string(status) + ": " + what;
    }

    std::nullopt_t fail(const std::string& why) {
        err_ << "sluice override " << name_of(command_.action) << ": " << why << "\n";
        return std::nullopt;
    }

    ExitCode single() {
        const auto document = ask();
        if (!document) return code_;
        if (command_.output == Output::kJson) {
            out_ << body_ << (body_.ends_with('\n') ? "" : "\n");
            return ExitCode::kOk;
        }
        const Json data = (*document)["data"].value();
        switch (command_.action) {
            case OverrideAction::kGet:
                return print_entry(data);
            case OverrideAction::kDelete:
                out_ << "deleted: " << shown(command_.identifier) << "\n";
                return ExitCode::kOk;
            default:
                return print_set(data);
        }
    }

    ExitCode print_entry(const Json& data) {
        const auto entry = entry_in(data);
        if (!entry) return unexpected();
        print(*entry, out_);
        return ExitCode::kOk;
    }

    ExitCode print_set(const Json& data) {
        std::string_view id;
        if (data["overrideId"].get(id) != simdjson::SUCCESS) return unexpected();
        out_ << "set: ";
        print({.id = std::string(id),
               .identifier = command_.identifier,
               .limit = command_.limit,
               .duration = command_.duration.count()},
              out_);
        return ExitCode::kOk;
    }

    // Prints nothing before all pages are read: half a list looks like a whole one.
    ExitCode list() {
        std::string cursor;
        do {
            const auto document = ask(cursor);
            if (!document) return code_;
            simdjson::dom::array entries;
            if ((*document)["data"].get(entries) != simdjson::SUCCESS) return unexpected();
            for (const Json entry : entries) {
                if (!take(entry)) return unexpected();
            }
            const auto next = cursor_in(*document);
            const bool is_stuck = next && !next->empty() && *next == cursor;
            if (!next || is_stuck) return unexpected();
            cursor = *next;
        } while (!cursor.empty());
        if (command_.output == Output::kJson) {
            out_ << "{\"data\":[" << json_ << "]}\n";
        } else {
            for (const Entry& entry : entries_)
                print(entry, out_);
        }
        return ExitCode::kOk;
    }

    bool take(const Json& json) {
        auto entry = entry_in(json);
        if (!entry) return false;
        if (command_.output == Output::kJson) {
            json_ += (json_.empty() ? "" : ",") + std::string(simdjson::minify(json));
        } else {
            entries_.push_back(*std::move(entry));
        }
        return true;
    }

    // Where the next page begins: empty after the last one, none if the server does not say.
    static std::optional<std::string> cursor_in(const Json& document) {
        bool has_more = false;
        std::string_view cursor;
        if (document["pagination"]["hasMore"].get(has_more) != simdjson::SUCCESS)
            return std::nullopt;
        if (!has_more) return std::string();
        if (document["pagination"]["cursor"].get(cursor) != simdjson::SUCCESS) return std::nullopt;
        return std::string(cursor);
    }

    ExitCode unexpected() {
        fail("the server answered something else than overrides; is it Sluice?");
        return ExitCode::kError;
    }

    const OverrideCommand& command_;
    std::ostream& out_;
    std::ostream& err_;
    simdjson::dom::parser parser_;
    std::string body_;  // of the last answer
    ExitCode code_ = ExitCode::kError;
    std::vector<Entry> entries_;  // of a list, as text
    std::string json_;            // of a list, as JSON
};

}  // namespace

ExitCode run_override(const OverrideCommand& command, std::ostream& out, std::ostream& err) {
    return Run(command, out, err).run();
}

}  // namespace sluice::cli
