#include "regional/redis/complaint.h"

namespace sluice {
namespace {

constexpr std::size_t kMostBytes = 200;

}  // namespace

std::string complaint(std::string_view said, std::string_view secret) {
    // What follows are the words of the command, cut somewhere.
    std::string text(said.substr(0, said.find(", with args")));
    if (!secret.empty()) {
        for (std::size_t at = text.find(secret); at != std::string::npos;
             at = text.find(secret, at + 3))
            text.replace(at, secret.size(), "***");
    }
    if (text.size() > kMostBytes) text.resize(kMostBytes);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

bool says_not_serving(std::string_view said) {
    return said.starts_with("READONLY ") || said.starts_with("LOADING ") ||
           said.starts_with("MASTERDOWN ") || said.find("-READONLY ") != std::string_view::npos;
}

}  // namespace sluice
