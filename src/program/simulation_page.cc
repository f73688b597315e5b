#include "program/simulation_page.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include <openssl/evp.h>

#include "base/check.h"
#include "base/sha256.h"
#include "page/assets.h"

namespace sluice::cli {
namespace {

std::string_view content_of(std::string_view path) {
    const page::Asset* const asset = page::find_asset(path);
    SLUICE_CHECK(asset != nullptr);
    return asset->content;
}

// Appends a module to the modules that it imports from: without its imports, which are one line
// each, and without `export`.
void append_module(std::string_view module, std::string& script) {
    constexpr std::string_view kExport = "export ";
    while (!module.empty()) {
        const std::size_t end = std::min(module.find('\n'), module.size() - 1) + 1;
        std::string_view line = module.substr(0, end);
        module.remove_prefix(end);
        if (line.starts_with("import ")) continue;
        if (line.starts_with(kExport)) line.remove_prefix(kExport.size());
        script += line;
    }
}

// The source expression of a Content-Security-Policy that allows exactly this text.
std::string policy_hash(std::string_view text) {
    const Sha256 digest = sha256_of(text);
    std::array<unsigned char, 4 * ((digest.size() + 2) / 3) + 1> base64{};
    const int size = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
    return "'sha256-" + std::string(base64.begin(), base64.begin() + size) + "'";
}

// In a script element, `<` could end the element; within a JSON string it may be escaped, and it
// stands nowhere else.
std::string without_tags(const std::string& json) {
    std::string text;
    text.reserve(json.size());
    for (const char letter : json) {
        if (letter == '<') {
            text += "\\u003c";
        } else {
            text += letter;
        }
    }
    return text;
}

}  // namespace

void write_simulation_page(const std::string& json, std::ostream& out) {
    const std::string_view style = content_of("/page.css");
    std::string script;
    for (const std::string_view path :
         {"/dom.js", "/format.js", "/charts.js", "report/simulation.js"})
        append_module(content_of(path), script);
    out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        << policy_hash(script) << "; style-src " << policy_hash(style)
        << "; base-uri 'none'; form-action 'none'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<title>Sluice simulation</title>\n<style>"
        << style
        << "</style>\n</head>\n<body>\n<main id=\"main\"></main>\n"
           "<script type=\"application/json\" id=\"result\">"
        << without_tags(json) << "</script>\n<script type=\"module\">" << script
        << "</script>\n</body>\n</html>\n";
}

}  // namespace sluice::cli
