// A server that limits its clients: one thread accepts connections, decides, and answers. The
// program is its own client, and ends after five connections.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

constexpr int kConnections = 5;

// Returns a socket that listens on a free port of the loopback interface, and its address.
int listen_on_loopback(sockaddr_in& address) {
    address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener, kConnections) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        std::exit(EXIT_FAILURE);
    }
    return listener;
}

void serve(sluice::Limiter& limiter, int listener) {
    const sluice::Rule rule{.name_space = "requests", .limit = 3, .duration = 60s};
    for (int i = 0; i < kConnections; ++i) {
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        const int connection = accept(listener, reinterpret_cast<sockaddr*>(&peer), &size);
        char name[INET_ADDRSTRLEN] = {};
        inet_ntop(AF_INET, &peer.sin_addr, name, sizeof name);
        const auto decision = limiter.limit(rule, name);
        const std::string_view answer = !decision          ? "500 Internal Server Error"
                                        : decision->passed ? "200 OK"
                                                           : "429 Too Many Requests";
        send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
        close(connection);
    }
}

void call(int number, const sockaddr_in& address) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        std::exit(EXIT_FAILURE);
    char answer[64];
    const ssize_t size = recv(connection, answer, sizeof answer, MSG_WAITALL);
    std::cout << "client " << number << ": "
              << std::string_view(answer, static_cast<std::size_t>(size > 0 ? size : 0)) << '\n';
    close(connection);
}

}  // namespace

int main() {
    auto limiter = sluice::Limiter::create({});
    if (!limiter) return EXIT_FAILURE;
    sockaddr_in address{};
    const int listener = listen_on_loopback(address);
    std::thread server([&] { serve(*limiter, listener); });
    for (int i = 1; i <= kConnections; ++i)
        call(i, address);
    server.join();
    close(listener);
}
