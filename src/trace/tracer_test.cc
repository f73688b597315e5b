#include "trace/tracer.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "base/mutex.h"

namespace sluice::trace {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* kUnsampledParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

bool eventually(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 10s; !condition();) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

// A collector that reads requests and gives the same answer to each; none if that is empty.
class Collector {
  public:
    explicit Collector(std::string answer)
        : answer_(std::move(answer)), thread_([this] { serve(); }) {}
    ~Collector() {
        is_ending_ = true;
        boost::system::error_code ignored;
        boost::asio::io_context loop;
        tcp::socket(loop).connect(acceptor_.local_endpoint(), ignored);
        thread_.join();
    }
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;

    CollectorUrl url() const {
        return {.server = {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port()},
                .path = "/v1/traces"};
    }
    // All requests, one after the other.
    std::string received() {
        const MutexLock lock(mutex_);
        return received_;
    }

  private:
    void serve() {
        std::vector<tcp::socket> unanswered;
        while (!is_ending_) {
            tcp::socket peer(loop_);
            boost::system::error_code failed;
            acceptor_.accept(peer, failed);
            if (answer_.empty()) {
                unanswered.push_back(std::move(peer));
                continue;
            }
            read_request(peer);
            boost::asio::write(peer, boost::asio::buffer(answer_), failed);
        }
    }

    // Every body here ends with the brackets that close a list of spans.
    void read_request(tcp::socket& peer) {
        std::array<char, 4096> bytes;
        boost::system::error_code failed;
        std::string request;
        while (!failed && !request.ends_with("]}]}]}")) {
            const std::size_t count = peer.read_some(boost::asio::buffer(bytes), failed);
            request.append(bytes.data(), count);
        }
        const MutexLock lock(mutex_);
        received_ += request;
    }

    const std::string answer_;
    std::atomic<bool> is_ending_ = false;  // the owner writes, serve() reads; nothing depends on it
    Mutex mutex_;
    std::string received_ SLUICE_GUARDED_BY(mutex_);
    boost::asio::io_context loop_;
    tcp::acceptor acceptor_{loop_, {boost::asio::ip::make_address("127.0.0.1"), 0}};
    std::thread thread_;
};

constexpr const char* kTaken = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
constexpr const char* kRefused = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

std::unique_ptr<Tracer> started(TracerOptions options) {
    auto tracer = Tracer::start(std::move(options));
    EXPECT_TRUE(tracer);
    return *std::move(tracer);
}

TracerOptions options_for(const Collector& collector) {
    return {.collector = collector.url(), .one_in = 1, .interval = 10ms};
}

TEST(TracerTest, SendsWhatWaited) {
    Collector collector(kTaken);
    const auto tracer = started(options_for(collector));
    const auto span = tracer->begin("ratelimit.limit", kParent);
    ASSERT_NE(span, nullptr);
    span->add("sluice.limit", std::int64_t{10});
    span->add_identifier("sluice.identifier", "alice");
    std::this_thread::sleep_for(3ms);
    span->end();
    ASSERT_TRUE(eventually([&] { return tracer->stats().sent == 1; }));
    const std::string request = collector.received();
    for (const std::string part : {"POST /v1/traces HTTP/1.1\r\n",
                                   "Content-Type: application/json\r\n",
                                   R"("traceId":"0af7651916cd43dd8448eb211c80319c")",
                                   R"("parentSpanId":"b7ad6b7169203331")",
                                   R"({"key":"sluice.limit","value":{"intValue":"10"}})",
                                   R"({"key":"service.name","value":{"stringValue":"sluice"}})"})
        EXPECT_NE(request.find(part), std::string::npos) << part << "\nin " << request;
    EXPECT_EQ(request.find("alice"), std::string::npos);
    EXPECT_FALSE(tracer->stats().unavailable);
}

TEST(TracerTest, SendsIdentifiersIfItMay) {
    Collector collector(kTaken);
    auto options = options_for(collector);
    options.with_identifiers = true;
    const auto tracer = started(std::move(options));
    const auto span = tracer->begin("ratelimit.limit", "");
    span->add_identifier("sluice.identifier", "alice");
    span->end();
    ASSERT_TRUE(eventually([&] { return tracer->stats().sent == 1; }));
    EXPECT_NE(collector.received().find("alice"), std::string::npos);
}

TEST(TracerTest, SamplesOneInN) {
    Collector collector(kTaken);
    auto options = options_for(collector);
    options.one_in = 10;
    const auto tracer = started(std::move(options));
    int sampled = 0;
    for (int i = 0; i < 10'000; ++i)
        sampled += tracer->begin("ratelimit.limit", "") != nullptr ? 1 : 0;
    EXPECT_NEAR(sampled, 1'000, 200);  // 6.7 standard deviations
    sampled = 0;
    for (int i = 0; i < 1'000; ++i)
        sampled += tracer->begin("ratelimit.limit", "00-malformed") != nullptr ? 1 : 0;
    EXPECT_NEAR(sampled, 100, 75);
}

TEST(TracerTest, LeavesTheChoiceToTheCallerThatHasATrace) {
    Collector collector(kTaken);
    auto options = options_for(collector);
    options.one_in = 1'000'000'000;
    const auto rare = started(std::move(options));
    const auto all = started(options_for(collector));
    EXPECT_NE(rare->begin("ratelimit.limit", kParent), nullptr);
    EXPECT_EQ(all->begin("ratelimit.limit", kUnsampledParent), nullptr);
}

TEST(TracerTest, ReportsACollectorThatRefuses) {
    Collector refusing(kRefused);
    Mutex mutex;
    std::vector<std::string> changes;
    auto options = options_for(refusing);
    options.on_change = [&](const std::string& why) {
        const MutexLock lock(mutex);
        changes.push_back(why);
    };
    const auto tracer = started(std::move(options));
    for (std::uint64_t i = 1; i <= 2; ++i) {
        tracer->begin("ratelimit.limit", "")->end();
        ASSERT_TRUE(eventually([&] { return tracer->stats().dropped == i; }));
    }
    EXPECT_TRUE(tracer->stats().unavailable);
    EXPECT_EQ(tracer->stats().sent, 0U);
    const MutexLock lock(mutex);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_NE(changes[0].find("the answer has the status 503"), std::string::npos) << changes[0];
}

TEST(TracerTest, DropsWhatFindsTheQueueFullWithoutWaiting) {
    Collector silent("");
    auto options = options_for(silent);
    options.capacity = 8;
    options.timeout = 60s;
    options.close_timeout = 50ms;
    auto tracer = started(std::move(options));
    const auto before = std::chrono::steady_clock::now();
    // The first batch of 8 hangs, 8 more wait.
    for (int i = 0; i < 1'000; ++i)
        tracer->begin("ratelimit.limit", "")->end();
    EXPECT_GE(tracer->stats().dropped, 1'000U - 3 * 8);
    tracer.reset();  // does not wait for the collector
    EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
}

TEST(TracerTest, SendsWhatIsQueuedWhenItEnds) {
    Collector collector(kTaken);
    auto options = options_for(collector);
    options.interval = 1h;
    auto tracer = started(std::move(options));
    for (int i = 0; i < 3; ++i)
        tracer->begin("last", "")->end();
    tracer.reset();
    const std::string request = collector.received();
    std::size_t spans = 0;
    for (std::size_t at = 0; (at = request.find(R"("name":"last")", at)) != std::string::npos; ++at)
        ++spans;
    EXPECT_EQ(spans, 3U);
}

}  // namespace
}  // namespace sluice::trace
