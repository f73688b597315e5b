#include "server/passed_sockets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::server {
namespace {

constexpr int kFirst = 3;  // the descriptor of the first socket
constexpr int kMost = 1024;

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSettings = {
    {{"main", "listen"}, {"admin", "admin_listen"}, {"grpc", "grpc.listen"}}};

std::string take_variable(const char* name) {
    const char* const value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    unsetenv(name);
    return text;
}

std::optional<int> number_in(const std::string& text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || stop != end) return std::nullopt;
    return number;
}

std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
        const std::size_t end = std::min(text.find(':', begin), text.size());
        names.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

// None if it is no TCP socket that listens.
std::optional<config::Address> address_of(int socket) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    const bool is_listening =
        getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
    sockaddr_storage address{};
    size = sizeof(address);
    if (!is_listening || getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    in_port_t port = 0;
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        bytes = &v4.sin_addr;
        port = v4.sin_port;
    } else if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        bytes = &v6.sin6_addr;
        port = v6.sin6_port;
    }
    if (bytes == nullptr ||
        inet_ntop(address.ss_family, bytes, text.data(), text.size()) == nullptr)
        return std::nullopt;
    return config::Address{text.data(), ntohs(port)};
}

Error refused(const std::string& variable, const std::string& value, const std::string& allowed) {
    return {kInvalidOption, variable + " is \"" + value + "\"; allowed is " + allowed};
}

}  // namespace

Result<PassedSockets> PassedSockets::from_environment() {
    const auto process = number_in(take_variable("LISTEN_PID"));
    const std::string count_text = take_variable("LISTEN_FDS");
    const std::string names_text = take_variable("LISTEN_FDNAMES");
    PassedSockets passed;
    // Another process of the same environment may be meant.
    if (count_text.empty() || process != getpid()) return passed;
    const auto count = number_in(count_text);
    if (!count || *count < 0 || *count > kMost)
        return refused("LISTEN_FDS", count_text, "a number of sockets from 0 to 1024");
    std::vector<std::string> names = names_in(names_text);
    if (names.empty() && *count == 1) names.emplace_back("main");
    if (names.size() != static_cast<std::size_t>(*count))
        return refused(
            "LISTEN_FDNAMES", names_text, "a name for each of the " + count_text + " sockets");
    std::map<std::string, config::Address> addresses;
    for (int i = 0; i < *count; ++i) {
        const int socket = kFirst + i;
        const std::string& name = names[static_cast<std::size_t>(i)];
        const auto* const found =
            std::find_if(kSettings.begin(), kSettings.end(), [&](const auto& each) {
                return each.first == name;
            });
        if (found == kSettings.end()) {
            return refused("LISTEN_FDNAMES",
                           names_text,
                           "main, admin or grpc for each socket (FileDescriptorName= of its unit)");
        }
        const auto address = address_of(socket);
        if (!address)
            return Error{kInvalidOption,
                         "LISTEN_FDS: socket \"" + name + "\" is no TCP socket that listens"};
        const std::string setting(found->second);
        if (!addresses.emplace(setting, *address).second && addresses[setting] != *address)
            return Error{kInvalidOption,
                         "LISTEN_FDS: the sockets \"" + name +
                             "\" have several addresses: " + config::to_string(addresses[setting]) +
                             " and " + config::to_string(*address)};
        fcntl(socket, F_SETFD, FD_CLOEXEC);
        passed.sockets_[setting].push_back(socket);
    }
    return passed;
}

PassedSockets::~PassedSockets() {
    for (const auto& [setting, sockets] : sockets_) {
        for (const int socket : sockets)
            ::close(socket);
    }
}

std::map<std::string, std::string> PassedSockets::addresses() const {
    std::map<std::string, std::string> texts;
    for (const auto& [setting, sockets] : sockets_) {
        if (const auto address = address_of(sockets.front()))
            texts[setting] = config::to_string(*address);
    }
    return texts;
}

Result<std::vector<http::ListenAddress>> PassedSockets::places(const std::string& setting,
                                                               const config::Address& address,
                                                               std::size_t count) const {
    const auto found = sockets_.find(setting);
    http::ListenAddress place{.host = address.host, .port = address.port};
    if (found == sockets_.end()) {
        const auto free = http::claim(place);
        if (!free) return free.error();
        return std::vector<http::ListenAddress>(count, *free);
    }
    const std::vector<int>& sockets = found->second;
    if (sockets.size() > count) {
        return Error{kInvalidOption,
                     std::to_string(sockets.size()) + " sockets were passed for " +
                         std::to_string(count) + " threads; allowed is one for each, or fewer"};
    }
    std::vector<http::ListenAddress> places;
    for (std::size_t i = 0; i < count; ++i) {
        place.socket = sockets[i % sockets.size()];
        places.push_back(place);
    }
    return places;
}

}  // namespace sluice::server
