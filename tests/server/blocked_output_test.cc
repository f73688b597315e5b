// Standard output and standard error whose reader has stopped.
#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1000,"duration":60000})";
constexpr std::string_view kDropped = "sluice_log_lines_dropped_total";

// A pipe that is full from the start.
class FullPipe {
  public:
    FullPipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
        ::fcntl(writer(), F_SETPIPE_SZ, 4096);
        ::fcntl(writer(), F_SETFL, O_NONBLOCK);
        const std::string bytes(4096, '.');
        while (::write(writer(), bytes.data(), bytes.size()) > 0) {
        }
        ::fcntl(writer(), F_SETFL, 0);
    }
    ~FullPipe() {
        for (const int end : ends_)
            ::close(end);
    }
    FullPipe(const FullPipe&) = delete;
    FullPipe& operator=(const FullPipe&) = delete;

    int writer() const { return ends_[1]; }

    // Reads until `wanted` has come, and to the end of that line.
    std::string read_until(std::string_view wanted) {
        std::string text;
        std::array<char, 4096> piece;
        std::size_t at = std::string::npos;
        for (;;) {
            const std::size_t seen = text.size() - std::min(text.size(), 2 * piece.size());
            if (at == std::string::npos) at = text.find(wanted, seen);
            if (at != std::string::npos && text.find('\n', at) != std::string::npos) return text;
            const ssize_t size = ::read(ends_[0], piece.data(), piece.size());
            if (size <= 0) throw std::runtime_error("the pipe ended; it held: " + text);
            text.append(piece.data(), static_cast<std::size_t>(size));
        }
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

// Sends requests, each of which is worth a long line in the log, until lines are dropped.
void flood(const Server& server) {
    const std::string request = get_request("/" + std::string(190, 'x'));
    std::string pipelined;
    constexpr int kAtOnce = 32;
    for (int i = 0; i < kAtOnce; ++i)
        pipelined += request;
    Connection connection = server.connect();
    const auto deadline = std::chrono::steady_clock::now() + 2 * kTimeout;
    while (sum_of(server.get("/metrics").body, kDropped) < 1000) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("no line was dropped");
        for (int round = 0; round < 32; ++round) {
            connection.send(pipelined);
            for (int i = 0; i < kAtOnce; ++i)
                EXPECT_EQ(connection.receive().status, 404);
        }
    }
}

TEST(BlockedOutput, StopsNeitherTheStartNorDecisionsNorTheEnd) {
    const FullPipe out;
    const FullPipe err;
    Server server(
        {.flags = {"--log-requests"}, .streams = {.out = out.writer(), .err = err.writer()}});
    flood(server);
    EXPECT_EQ(server.get("/healthz").status, 200);
    EXPECT_EQ(server.ask(kLimit, kBody).status, 200);
    server.program().signal(SIGHUP);
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait(8s).exit_code, 0);
}

TEST(BlockedOutput, SecondSignalEndsTheServerAtOnce) {
    const FullPipe err;
    Server server({.flags = {"--drain-timeout", "1h"}, .streams = {.err = err.writer()}});
    Connection unfinished = server.connect();
    unfinished.send("GET /");
    ASSERT_TRUE(unfinished.await_read());
    server.program().signal(SIGTERM);
    ASSERT_TRUE(server.await_closed());
    EXPECT_TRUE(server.program().running());
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait(8s).exit_code, 128 + SIGTERM);
}

TEST(BlockedOutput, ThatIsReadAgainReportsTheDroppedLines) {
    FullPipe err;
    Server server({.flags = {"--log-requests"}, .streams = {.err = err.writer()}});
    flood(server);
    const auto dropped = static_cast<long>(sum_of(server.get("/metrics").body, kDropped));
    auto reader =
        std::async(std::launch::async, [&] { return err.read_until("log_lines_dropped"); });
    const std::string text = reader.get();
    EXPECT_NE(text.find(" info started "), std::string::npos) << "what came first is kept";
    const std::size_t at = text.find(" warn log_lines_dropped lines=");
    ASSERT_NE(at, std::string::npos);
    // The two requests that this test made for the metric are dropped lines as well.
    EXPECT_GE(
        std::stol(text.substr(at + std::string_view(" warn log_lines_dropped lines=").size())),
        dropped);
    EXPECT_EQ(server.get("/afterwards").status, 404);
    EXPECT_NE(err.read_until("path=/afterwards").find(" info request "), std::string::npos);
}

}  // namespace
}  // namespace sluice::server_test
