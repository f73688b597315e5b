#include "support/nats_server.h"

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace sluice::nats_test {

using server_test::read_file;

NatsServer::NatsServer(NatsServerOptions options)
    : options_(std::move(options)), scratch_(std::make_unique<server_test::ScratchFolder>()) {
    if (options_.tls) certificate_ = make_certificate(*scratch_, "nats", options_.tls_name);
    // Another process may take a port that was free a moment ago; then another one is tried.
    for (int tries = 0; tries < 5; ++tries) {
        port_ = server_test::free_port();
        if (!options_.starts) return;
        process_.start({"nats-server", "-c", scratch_->write("conf", config())},
                       scratch_->path("log"));
        ++starts_;
        if (becomes_ready()) return;
        process_.kill();
    }
    throw std::runtime_error("nats-server did not become ready; it wrote:\n" +
                             read_file(scratch_->path("log")));
}

std::string NatsServer::url(const std::string& login) const {
    const std::string user = login.empty() ? "" : login + "@";
    return (options_.tls ? "tls://" : "nats://") + user + address();
}

void NatsServer::start() {
    if (!process_.has_ended()) return;
    process_.start({"nats-server", "-c", scratch_->write("conf", config())}, scratch_->path("log"));
    ++starts_;
    if (becomes_ready()) return;
    throw std::runtime_error("nats-server did not come back; it wrote:\n" +
                             read_file(scratch_->path("log")));
}

std::string NatsServer::config() const {
    std::string text = "listen: \"" + address() + "\"\n" + options_.config + "\n";
    if (options_.tls) {
        text += "tls { cert_file: \"" + certificate_.cert + "\", key_file: \"" + certificate_.key +
                "\", ca_file: \"" + certificate_.cert +
                "\", verify: " + (options_.verify_clients ? "true" : "false") + " }\n";
    }
    return text;
}

// Each start appends such a line to the log.
bool NatsServer::becomes_ready() {
    constexpr std::string_view kReady = "Server is ready";
    const auto deadline = std::chrono::steady_clock::now() + server_test::kTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
        const std::string log = read_file(scratch_->path("log"));
        int ready = 0;
        for (std::size_t at = log.find(kReady); at != std::string::npos;
             at = log.find(kReady, at + 1))
            ++ready;
        if (ready == starts_) return true;
        if (process_.has_ended()) {
            --starts_;
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

std::string dead_address() {
    return "127.0.0.1:" + std::to_string(server_test::free_port());
}

}  // namespace sluice::nats_test
