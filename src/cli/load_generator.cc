#include "cli/load_generator.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/tls_host.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;
using PlainStream = Tcp::socket;
using TlsStream = asio::ssl::stream<Tcp::socket>;

// How long after its end the run waits for a server that doesn't respond.
constexpr std::chrono::seconds kGrace{5};
// The pause before another attempt to connect.
constexpr std::chrono::milliseconds kReconnectDelay{100};

constexpr std::size_t kLongestHead = 16U << 10U;
constexpr std::size_t kLongestBody = 16U << 20U;

char lower(char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_text(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return lower(x) == lower(y);
    });
}

// The value of `name` in a head; empty if it has none.
std::string_view field(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const std::size_t end = std::min(head.find("\r\n"), head.size());
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(end + 2, head.size()));
        const bool has_name = line.size() > name.size() && line[name.size()] == ':' &&
                              same_text(line.substr(0, name.size()), name);
        if (!has_name) continue;
        const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
        return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
    }
    return {};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

void append_item(const BenchOptions& options, std::uint64_t key, std::string& out) {
    out += R"({"namespace":"bench","identifier":"key-)";
    out += std::to_string(key);
    out += R"(","limit":)";
    out += std::to_string(options.limit);
    out += R"(,"duration":)";
    out += std::to_string(options.duration.count());
    out += '}';
}

// Spreads consecutive numbers evenly over all keys.
std::uint64_t key_of(std::uint64_t number, std::size_t keys) {
    return (number * 0x9E3779B97F4A7C15U >> 20U) % keys;
}

void append_body(const BenchOptions& options, std::uint64_t turn, std::string& out) {
    if (options.batch == 1) return append_item(options, key_of(turn, options.keys), out);
    out += '[';
    for (std::size_t i = 0; i < options.batch; ++i) {
        if (i != 0) out += ',';
        append_item(options, key_of(turn * options.batch + i, options.keys), out);
    }
    out += ']';
}

// The state that all connections share. One thread runs one loop.
struct Load {
    const BenchOptions& options;
    asio::io_context loop{1};
    asio::ssl::context tls;
    Tcp::resolver::results_type addresses;
    std::uint64_t turn = 0;
    bool over = false;
    BenchResult result;
    LatencyHistogram recent;  // since the last line of progress

    explicit Load(const BenchOptions& chosen)
        : options(chosen), tls(client_tls_context(chosen.target)) {}

    void fail(const std::string& what) {
        if (!over) ++result.errors[what];
    }
};

// A connection with one request in flight.
template <class Stream>
class LoadConnection {
  public:
    explicit LoadConnection(Load& load) : load_(load), pause_(load.loop) {}

    void start() {
        if (load_.over) return;
        received_.clear();
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_ = std::make_unique<Stream>(load_.loop, load_.tls);
            expect_host(stream_->native_handle(), load_.options.target.url.host);
        } else {
            stream_ = std::make_unique<Stream>(load_.loop);
        }
        asio::async_connect(
            stream_->lowest_layer(), load_.addresses, [this](error_code failed, const auto&) {
                if (failed) return reconnect("connect: " + failed.message());
                stream_->lowest_layer().set_option(Tcp::no_delay(true));
                shake_hands();
            });
    }

    void close() {
        error_code ignored;
        if (stream_) stream_->lowest_layer().close(ignored);
        pause_.cancel();
    }

  private:
    void shake_hands() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_->async_handshake(asio::ssl::stream_base::client, [this](error_code failed) {
                if (failed) return reconnect("TLS: " + failed.message());
                send();
            });
        } else {
            send();
        }
    }

    void send() {
        if (load_.over) return close();
        write_request(load_.options, load_.turn++, request_);
        sent_ = Clock::now();
        asio::async_write(*stream_, asio::buffer(request_), [this](error_code failed, std::size_t) {
            if (failed) return reconnect("send: " + failed.message());
            receive();
        });
    }

    void receive() {
        stream_->async_read_some(asio::buffer(chunk_), [this](error_code failed, std::size_t size) {
            if (failed) return reconnect("receive: " + failed.message());
            received_.append(chunk_.data(), size);
            take_response();
        });
    }

    void take_response() {
        const ResponseExtent found = find_response(received_);
        if (found.state == ResponseState::kIncomplete) return receive();
        if (found.state == ResponseState::kMalformed)
            return reconnect("the response is not HTTP with a Content-Length");
        count(found.status, Clock::now() - sent_);
        received_.erase(0, found.size);
        if (!found.closes) return send();
        close();
        start();
    }

    void count(int status, std::chrono::nanoseconds took) {
        if (load_.over) return;
        if (status != 200) return load_.fail("status " + std::to_string(status));
        ++load_.result.requests;
        load_.result.decisions += load_.options.batch;
        load_.result.latency.add(took);
        load_.recent.add(took);
    }

    void reconnect(const std::string& why) {
        load_.fail(why);
        close();
        if (load_.over) return;
        pause_.expires_after(kReconnectDelay);
        pause_.async_wait([this](error_code cancelled) {
            if (!cancelled) start();
        });
    }

    Load& load_;
    asio::steady_timer pause_;
    std::unique_ptr<Stream> stream_;
    std::string request_;
    std::string received_;
    std::array<char, 16384> chunk_;
    Clock::time_point sent_;
};

// Prints a line each second.
class BenchProgress {
  public:
    BenchProgress(Load& load, std::ostream& out) : load_(load), out_(out), timer_(load.loop) {
        next();
    }
    void stop() { timer_.cancel(); }

  private:
    void next() {
        timer_.expires_after(std::chrono::seconds(1));
        timer_.async_wait([this](error_code cancelled) {
            // The run may have ended while this handler was queued.
            if (cancelled || load_.over) return;
            print();
            next();
        });
    }

    void print() {
        const std::uint64_t decisions = load_.result.decisions;
        const auto p99 =
            std::chrono::duration_cast<std::chrono::microseconds>(load_.recent.percentile(0.99));
        out_ << "  " << ++second_ << " s: " << decisions - printed_ << " decisions, p99 "
             << p99.count() << " us, " << load_.result.error_count() << " errors" << std::endl;
        printed_ = decisions;
        load_.recent = LatencyHistogram{};
    }

    Load& load_;
    std::ostream& out_;
    asio::steady_timer timer_;
    std::uint64_t printed_ = 0;
    int second_ = 0;
};

template <class Stream>
void drive(Load& load, std::ostream& out) {
    std::vector<std::unique_ptr<LoadConnection<Stream>>> connections;
    for (std::size_t i = 0; i < load.options.connections; ++i) {
        connections.push_back(std::make_unique<LoadConnection<Stream>>(load));
        connections.back()->start();
    }
    BenchProgress progress(load, out);
    const auto began = Clock::now();
    asio::steady_timer end(load.loop, load.options.seconds);
    end.async_wait([&](error_code) {
        load.result.took = Clock::now() - began;
        load.over = true;
        progress.stop();
        for (auto& connection : connections)
            connection->close();
    });
    load.loop.run_for(load.options.seconds + kGrace);
    // Handlers that are left refer to the connections.
    load.loop.stop();
}

}  // namespace

void LatencyHistogram::add(std::chrono::nanoseconds took) {
    const auto ns = static_cast<std::uint64_t>(took.count() > 0 ? took.count() : 0);
    ++buckets_[bucket_of(ns)];
    ++count_;
}

std::chrono::nanoseconds LatencyHistogram::percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += buckets_[i];
        if (seen > wanted || (seen == count_ && seen != 0))
            return std::chrono::nanoseconds(upper_bound(i));
    }
    return std::chrono::nanoseconds(0);
}

std::size_t LatencyHistogram::bucket_of(std::uint64_t ns) {
    if (ns < kSub) return static_cast<std::size_t>(ns);
    const auto shift = static_cast<std::size_t>(std::bit_width(ns)) - kSubBits - 1;
    return shift * kSub + static_cast<std::size_t>(ns >> shift);
}

std::int64_t LatencyHistogram::upper_bound(std::size_t bucket) {
    if (bucket < kSub) return static_cast<std::int64_t>(bucket);
    const std::size_t shift = bucket / kSub - 1;
    const std::uint64_t top = (bucket % kSub) + kSub + 1;
    return static_cast<std::int64_t>((top << shift) - 1);
}

ResponseExtent find_response(std::string_view received) {
    constexpr std::string_view kStart = "HTTP/1.";
    const ResponseExtent malformed{ResponseState::kMalformed};
    const std::size_t head_end = received.find("\r\n\r\n");
    if (head_end == std::string_view::npos) {
        const bool is_hopeless = received.size() > kLongestHead ||
                                 !received.starts_with(kStart.substr(0, received.size()));
        return is_hopeless ? malformed : ResponseExtent{ResponseState::kIncomplete};
    }
    const std::string_view head = received.substr(0, head_end);
    if (!head.starts_with(kStart) || head.size() < 12) return malformed;
    const auto status = number_in<int>(head.substr(9, 3));
    const auto length = number_in<std::size_t>(field(head, "Content-Length"));
    if (!status || !length || *length > kLongestBody) return malformed;
    const std::size_t size = head_end + 4 + *length;
    if (received.size() < size) return {ResponseState::kIncomplete};
    return {ResponseState::kComplete, *status, size, same_text(field(head, "Connection"), "close")};
}

std::uint64_t BenchResult::error_count() const {
    std::uint64_t sum = 0;
    for (const auto& [what, count] : errors)
        sum += count;
    return sum;
}

void write_request(const BenchOptions& options, std::uint64_t turn, std::string& out) {
    // The length is filled in after the body.
    constexpr std::size_t kLengthDigits = 8;
    out.assign("POST ");
    out += options.target.url.prefix;
    out += options.batch == 1 ? "/v2/ratelimit.limit" : "/v2/ratelimit.multiLimit";
    out += " HTTP/1.1\r\nHost: ";
    out += options.target.url.authority();
    out += "\r\nContent-Type: application/json\r\n";
    if (!options.target.token.empty()) {
        out += "Authorization: Bearer ";
        out += options.target.token;
        out += "\r\n";
    }
    out += "Content-Length: ";
    const std::size_t length_at = out.size();
    out += "00000000\r\n\r\n";
    const std::size_t body_at = out.size();
    append_body(options, turn, out);
    std::size_t length = out.size() - body_at;
    for (std::size_t i = kLengthDigits; i-- > 0; length /= 10) {
        out[length_at + i] = static_cast<char>('0' + length % 10);
    }
}

BenchResult generate_load(const BenchOptions& options, std::ostream& progress) {
    try {
        Load load(options);
        load.addresses =
            Tcp::resolver(load.loop).resolve(options.target.url.host, options.target.url.port);
        options.target.url.tls ? drive<TlsStream>(load, progress)
                               : drive<PlainStream>(load, progress);
        return load.result;
    } catch (const boost::system::system_error& error) {
        BenchResult nothing;
        nothing.errors[error.code().message()] = 1;
        return nothing;
    }
}

}  // namespace sluice::cli
