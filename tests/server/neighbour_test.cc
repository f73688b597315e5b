// What a client waits beside another one that keeps the same thread busy.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/http_connection.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kInFlight = 1'000;

const std::string kRequest =
    post("/v2/ratelimit.limit",
         R"({"namespace":"n","identifier":"i","limit":1000000000,"duration":3600000})");

std::string big_endian(std::size_t number, int size) {
    std::string bytes;
    for (int i = size - 1; i >= 0; --i)
        bytes += static_cast<char>(number >> (8 * i));
    return bytes;
}

// A short text with its length before it, as in HPACK and in protocol buffers.
std::string sized(std::string_view text) {
    return static_cast<char>(text.size()) + std::string(text);
}

std::string frame(int type, int flags, std::size_t stream, std::string_view content) {
    return big_endian(content.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
           big_endian(stream, 4) + std::string(content);
}

// Keeps 1,000 requests and at least half of them in flight on one connection, from a thread of its
// own. It does little for each, so that the server always has requests of it.
class Load {
  public:
    explicit Load(std::uint16_t port) : connection_(port) {}
    virtual ~Load() = default;
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    void start() {
        thread_ = std::thread([this] { run(); });
    }
    // Waits for the answers that are in flight.
    void stop() {
        is_stopped_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    std::size_t answered() const { return answered_.load(std::memory_order_relaxed); }

  protected:
    static constexpr std::size_t kBatch = kInFlight / 2;

    // Returns the bytes of kBatch requests, which are valid until the next call.
    virtual const std::string& next_batch() = 0;
    // Counts the complete answers in `bytes` and removes them.
    virtual std::size_t take_answers(std::string& bytes) = 0;

    Connection connection_;

  private:
    void run() {
        std::string in;
        for (std::size_t in_flight = 0;;) {
            const bool is_stopped = is_stopped_.load(std::memory_order_relaxed);
            if (is_stopped && in_flight == 0) return;
            for (; !is_stopped && in_flight <= kInFlight - kBatch; in_flight += kBatch)
                connection_.send(next_batch());
            in += connection_.receive_some();
            const std::size_t got = take_answers(in);
            in_flight -= got;
            answered_.fetch_add(got, std::memory_order_relaxed);
        }
    }

    // Written by the test, and by the load's thread; relaxed, since they publish nothing else.
    std::atomic<bool> is_stopped_{false};
    std::atomic<std::size_t> answered_{0};
    std::thread thread_;
};

class PipelinedRequests final : public Load {
  public:
    explicit PipelinedRequests(std::uint16_t port) : Load(port) {
        for (std::size_t i = 0; i < kBatch; ++i)
            batch_ += kRequest;
    }

  private:
    const std::string& next_batch() override { return batch_; }
    std::size_t take_answers(std::string& bytes) override {
        std::size_t count = 0;
        std::size_t end = 0;
        // An answer ends where the next one begins; the body has no such text.
        constexpr std::string_view kEnd = "}}";
        for (std::size_t at = 0; (at = bytes.find(kEnd, end)) != std::string::npos; ++count)
            end = at + kEnd.size();
        bytes.erase(0, end);
        return count;
    }

    std::string batch_;
};

class Calls final : public Load {
  public:
    explicit Calls(std::uint16_t port) : Load(port) {
        // Windows that need no update.
        connection_.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                         frame(4, 0, 0, big_endian(4, 2) + big_endian(0x7fff'ffff, 4)) +
                         frame(8, 0, 0, big_endian(0x7fff'ffff - 65'535, 4)) + frame(4, 1, 0, ""));
        // Fields that HPACK does not index: POST, http, :path, :authority, content-type, te.
        const std::string fields =
            "\x83\x86\x04" + sized("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit") +
            "\x01" + sized("localhost") + "\x0f\x10" + sized("application/grpc") +
            std::string(1, '\0') + sized("te") + sized("trailers");
        const std::string entry = "\x0a" + sized("k") + "\x12" + sized("v");
        const std::string message = "\x0a" + sized("test") + "\x12" + sized("\x0a" + sized(entry));
        head_ = frame(1, 4, 0, fields);
        body_ = frame(0, 1, 0, big_endian(message.size(), 5) + message);
        for (std::size_t i = 0; i < kBatch; ++i)
            batch_ += head_ + body_;
    }

  private:
    const std::string& next_batch() override {
        for (std::size_t at = 0; at < batch_.size(); at += head_.size() + body_.size()) {
            const std::string stream = big_endian(stream_, 4);
            batch_.replace(at + 5, 4, stream);
            batch_.replace(at + head_.size() + 5, 4, stream);
            stream_ += 2;
        }
        return batch_;
    }
    std::size_t take_answers(std::string& bytes) override {
        std::size_t count = 0;
        std::size_t end = 0;
        while (bytes.size() - end >= 9) {
            std::size_t size = 0;
            for (std::size_t i = 0; i < 3; ++i)
                size = size << 8U | static_cast<unsigned char>(bytes[end + i]);
            if (bytes.size() - end < 9 + size) break;
            const bool is_last = bytes[end + 3] == 1 && (bytes[end + 4] & 1) != 0;
            count += is_last ? 1 : 0;
            end += 9 + size;
        }
        bytes.erase(0, end);
        return count;
    }

    std::string head_;
    std::string body_;
    std::string batch_;
    std::size_t stream_ = 1;
};

// Times of single requests beside a load.
template <class Load>
void measure(Server& server, std::uint16_t port, std::vector<Clock::duration>& times) {
    constexpr int kRequests = 200;
    Connection neighbour = server.connect();
    Load load(port);
    load.start();
    while (load.answered() < kInFlight)
        std::this_thread::yield();
    const std::size_t before = load.answered();
    std::minstd_rand random(1);
    for (int i = 0; i < kRequests; ++i) {
        // At random: one that asks at once after an answer would find the moments in which the
        // server has nothing else to do.
        std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 1'000));
        const auto began = Clock::now();
        EXPECT_EQ(neighbour.ask(kRequest).status, 200);
        times.push_back(Clock::now() - began);
    }
    EXPECT_GT(load.answered(), before) << "there was no load";
    load.stop();
}

double median_us(std::vector<Clock::duration>& times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return std::chrono::duration<double, std::micro>(times[times.size() / 2]).count();
}

TEST(Neighbour, WaitsBesideManyCallsAboutAsLongAsBesidePipelinedRequests) {
    const ScratchFolder folder;
    const std::string rules =
        folder.write("rules.yaml",
                     "domain: test\ndescriptors:\n  - key: k\n    rate_limit: {unit: hour, "
                     "requests_per_unit: 1000000000}\n");
    const std::uint16_t port = free_port();
    Server server({.flags = {"--threads", "1", "--grpc", "127.0.0.1:" + std::to_string(port)},
                   .config = "rules = \"" + rules + "\"\n"});
    std::vector<Clock::duration> beside_requests;
    std::vector<Clock::duration> beside_calls;
    // In turn, so that both find the machine equally busy.
    for (int round = 0; round < 5; ++round) {
        measure<PipelinedRequests>(server, server.port(), beside_requests);
        measure<Calls>(server, port, beside_calls);
    }
    const double requests = median_us(beside_requests);
    const double calls = median_us(beside_calls);
    RecordProperty("beside_requests_us", std::to_string(requests));
    RecordProperty("beside_calls_us", std::to_string(calls));
    EXPECT_LE(calls, 3 * requests)
        << "beside calls " << calls << " us, beside requests " << requests << " us";
}

}  // namespace
}  // namespace sluice::server_test
