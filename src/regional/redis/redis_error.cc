#include "regional/redis/redis_error.h"

#include <algorithm>
#include <initializer_list>

namespace sluice {
namespace {

constexpr std::size_t kMaxShown = 200;

bool has_code(std::string_view reply, std::initializer_list<std::string_view> codes) {
    const std::string_view message = error_message(reply);
    const std::string_view code = message.substr(0, message.find(' '));
    return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

// Redis 7: "OOM command not allowed ... script: 5f1c..., on @user_script:9."
// Redis 6: "ERR Error running script (call to f_5f1c...): @user_script:9: @user_script: 9: -OOM
// ..."
std::string_view error_message(std::string_view reply) {
    constexpr std::string_view kRunning = "ERR Error running script";
    constexpr std::string_view kMessage = ": -";
    if (reply.starts_with(kRunning)) {
        const std::size_t at = reply.find(kMessage);
        if (at != std::string_view::npos) reply.remove_prefix(at + kMessage.size());
    }
    return reply.substr(0, reply.find(" script: "));
}

std::string shown_error(std::string_view reply, std::string_view secret) {
    // Redis quotes the arguments of a command that it does not know behind these words.
    const std::string_view message = error_message(reply);
    std::string text(message.substr(0, message.find(", with args")));
    if (!secret.empty()) {
        for (std::size_t at = text.find(secret); at != std::string::npos;
             at = text.find(secret, at + 3))
            text.replace(at, secret.size(), "***");
    }
    if (text.size() > kMaxShown) text.resize(kMaxShown);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

bool is_not_serving(std::string_view reply) {
    return has_code(reply, {"LOADING", "MASTERDOWN"});
}

bool is_refused_write(std::string_view reply) {
    return !is_not_serving(reply) &&
           !has_code(reply, {"MOVED", "ASK", "TRYAGAIN", "NOSCRIPT", "CLUSTERDOWN"});
}

bool is_refusing_all_writes(std::string_view reply) {
    return has_code(reply, {"OOM", "MISCONF", "READONLY", "NOREPLICAS"});
}

bool is_read_only(std::string_view reply) {
    return has_code(reply, {"READONLY"});
}

}  // namespace sluice
