#include "support/server.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::server_test {

// Another process may take the port that was free a moment ago; then another port is tried.
Server::Server(ServerOptions options) : options_(std::move(options)) {
    for (int tries = 0; tries < 3; ++tries)
        if (start()) return;
    throw std::runtime_error("sluice did not become ready; it wrote:\n" + program_->output());
}

bool Server::start() {
    port_ = free_port();
    admin_port_ = free_port();
    std::vector<std::string> arguments = {"serve",
                                          "--listen",
                                          "127.0.0.1:" + std::to_string(port_),
                                          "--admin-listen",
                                          "127.0.0.1:" + std::to_string(admin_port_)};
    if (!options_.config.empty()) {
        arguments.emplace_back("--config");
        arguments.push_back(scratch_.write("sluice.toml", options_.config));
    }
    arguments.insert(arguments.end(), options_.flags.begin(), options_.flags.end());
    program_ = std::make_unique<Program>(arguments, options_.environment, options_.streams);
    return becomes_ready();
}

bool Server::becomes_ready() {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (program_->running() && std::chrono::steady_clock::now() < deadline) {
        try {
            if (get("/readyz").status == 200) return true;
        } catch (const std::runtime_error&) {  // it does not listen yet
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

bool Server::await_closed() const {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    try {
        while (std::chrono::steady_clock::now() < deadline) {
            connect();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    } catch (const std::runtime_error&) {
        return true;
    }
    return false;
}

std::string Server::url() const {
    return (options_.trusted.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") +
           std::to_string(port_);
}

Connection Server::connect() const {
    return connect(port_);
}

Connection Server::connect_to_admin() const {
    return connect(admin_port_);
}

Connection Server::connect(std::uint16_t port) const {
    return options_.trusted.empty() ? Connection(port)
                                    : Connection(port, {.trusted = options_.trusted});
}

Answer Server::ask(std::string_view path, std::string_view body, const Fields& fields) const {
    return connect().ask(post(path, body, fields));
}

Answer Server::get(std::string_view path) const {
    return (path == "/metrics" ? connect_to_admin() : connect()).ask(get_request(path));
}

void Server::rewrite_config(std::string_view text) {
    scratch_.write("sluice.toml", text);
}

std::string post(std::string_view path, std::string_view body, const Fields& fields) {
    Fields all = {{"Host", "localhost"},
                  {"Content-Type", "application/json"},
                  {"Content-Length", std::to_string(body.size())}};
    for (const auto& field : fields) {
        std::erase_if(all, [&](const auto& other) { return other.first == field.first; });
        all.push_back(field);
    }
    std::string request = "POST " + std::string(path) + " HTTP/1.1\r\n";
    for (const auto& [name, value] : all)
        request += name + ": " + value + "\r\n";
    return request + "\r\n" + std::string(body);
}

std::string get_request(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(socket);
    return ntohs(address.sin_port);
}

namespace {

std::string sha256_in_hex(const std::string& text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    std::string hex;
    for (const unsigned char byte : digest) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        hex += kDigits[byte >> 4U];
        hex += kDigits[byte & 0xFU];
    }
    return hex;
}

}  // namespace

std::string to_toml(const TokenEntry& entry) {
    return "[[tokens]]\nname = \"" + entry.token.substr(0, 4) + "\"\nsha256 = \"" +
           sha256_in_hex(entry.token) + "\"\nworkspace = \"" + entry.workspace +
           "\"\nnamespaces = " + entry.namespaces + "\npermissions = " + entry.permissions + "\n";
}

Fields bearing(std::string_view token) {
    return {{"Authorization", "Bearer " + std::string(token)}};
}

Certificate make_certificate(const ScratchFolder& folder,
                             const std::string& file,
                             const std::string& name) {
    const Certificate made = {folder.path(file + ".crt"), folder.path(file + ".key")};
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -out " + made.cert + " -keyout " + made.key +
        " 2>/dev/null";
    if (std::system(command.c_str()) != 0)
        throw std::runtime_error("openssl could not make a certificate");
    return made;
}

}  // namespace sluice::server_test
