#include "cli/roff.h"

#include <cstddef>

#include "config/default_file.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kWidth = 76;

// Dashes are escaped so that they stay ASCII, and options can be searched and copied.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '\\':
                out += "\\e";
                break;
            case '-':
                out += "\\-";
                break;
            case '\'':
                out += "\\(aq";
                break;
            case '`':
                out += "\\(ga";
                break;
            case '^':
                out += "\\(ha";
                break;
            case '~':
                out += "\\(ti";
                break;
            default:
                out += c;
        }
    }
    // A dot at the beginning of a line would be a macro.
    return out.starts_with('.') ? "\\&" + out : out;
}

// An argument of a macro, in double quotes.
std::string argument(std::string_view text) {
    std::string out;
    for (const char c : escaped(text)) {
        if (c == '"') {
            out += "\\(dq";
        } else {
            out += c;
        }
    }
    return "\"" + out + "\"";
}

}  // namespace

RoffPage::RoffPage(const Title& title) {
    out_ = ".TH " + argument(title.name) + " " + argument(title.section) + " \"" +
           std::string(title.date) + "\" " + argument(title.source) + " " + argument(title.manual) +
           "\n";
    // Neither hyphens nor spaces are inserted: both would change what is copied from a page.
    out_ += ".nh\n.ad l\n";
}

void RoffPage::section(std::string_view name) {
    out_ += ".SH " + argument(name) + "\n";
    is_at_heading_ = true;
}

void RoffPage::subsection(std::string_view name) {
    out_ += ".SS " + argument(name) + "\n";
    is_at_heading_ = true;
}

// A heading begins one by itself.
void RoffPage::begin_paragraph() {
    if (!is_at_heading_) out_ += ".PP\n";
    is_at_heading_ = false;
}

void RoffPage::prose(std::string_view text) {
    for (const std::string& line : config::wrapped(text, kWidth)) {
        for (const char c : escaped(line)) {
            out_ += c;
            // A long URL may be broken here, without a hyphen.
            if (c == ',' || c == '/' || c == ']') out_ += "\\:";
        }
        out_ += "\n";
    }
}

void RoffPage::paragraph(std::string_view text) {
    begin_paragraph();
    prose(text);
}

void RoffPage::item(std::string_view tag, std::string_view value, std::string_view text) {
    is_at_heading_ = false;
    out_ += ".TP\n\\fB" + escaped(tag) + "\\fR";
    if (!value.empty()) out_ += " \\fI" + escaped(value) + "\\fR";
    out_ += "\n";
    prose(text);
}

void RoffPage::more(std::string_view text) {
    out_ += ".br\n";
    prose(text);
}

void RoffPage::help(std::string_view text) {
    std::string paragraph;
    bool is_example = false;
    const auto end_paragraph = [&] {
        if (!paragraph.empty()) this->paragraph(paragraph);
        paragraph.clear();
    };
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.starts_with(' ')) {
            end_paragraph();
            if (!is_example) {
                begin_paragraph();
                out_ += ".EX\n";
            }
            is_example = true;
            out_ += escaped(line) + "\n";
            continue;
        }
        if (is_example) out_ += ".EE\n";
        is_example = false;
        if (line.empty()) {
            end_paragraph();
        } else {
            paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
        }
    }
    if (is_example) out_ += ".EE\n";
    end_paragraph();
}

}  // namespace sluice::cli
