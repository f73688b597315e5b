// The registry of metrics: the readings of a scrape, and their export as text.
#ifndef SLUICE_METRICS_METRICS_H_
#define SLUICE_METRICS_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/names.h"
#include "metrics/thread_metrics.h"

namespace sluice::metrics {

class Text;

// What the listeners of all threads have seen.
struct ConnectionReadings {
    std::uint64_t open = 0;
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::uint64_t evicted = 0;
    std::uint64_t shed = 0;
    std::uint64_t buffered_bytes = 0;
    std::uint64_t accept_failures = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t handshake_failures = 0;
};

// What the gRPC sessions of all threads have seen. All zero without gRPC.
struct GrpcReadings {
    std::uint64_t calls = 0;
    std::uint64_t refused = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t expired = 0;
    std::uint64_t floods = 0;
};

// Statistics of the calls to the origin. All zero without one.
struct OriginReadings {
    bool unavailable = false;
    std::uint64_t nodes = 0;
    double oldest_unsynced = 0;  // in seconds, as the next one
    double clock_offset = 0;
    std::uint64_t spends = 0;
    std::uint64_t spend_calls = 0;
    std::uint64_t flushed = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t fallbacks = 0;
    std::uint64_t queue_overflows = 0;
    std::uint64_t outages = 0;
    std::uint64_t resubmissions = 0;
    std::uint64_t key_errors = 0;
};

// Statistics of the calls to the global store. All zero without one.
struct GlobalReadings {
    bool unavailable = false;
    bool publish_unavailable = false;
    bool import_unavailable = false;
    bool breaker_open = false;
    bool publish_breaker_open = false;
    bool import_breaker_open = false;
    std::uint64_t writes = 0;
    std::uint64_t write_errors = 0;
    std::uint64_t writes_given_up = 0;
    std::uint64_t rows_refused = 0;
    std::uint64_t republishes = 0;
    std::uint64_t rows_forgotten = 0;
    std::uint64_t rows_applied = 0;
    std::uint64_t import_errors = 0;
    std::uint64_t cells_held = 0;
    std::uint64_t cells_dropped = 0;
    std::uint64_t regions = 0;
    std::uint64_t rows_last_poll = 0;
    std::uint64_t rows_cleaned = 0;
    double publish_lag = 0;  // this and the next two in seconds; -1: never
    double since_publish = 0;
    double import_lag = 0;
};

// Statistics of the bus. All zero without one.
struct BusReadings {
    bool unavailable = false;
    std::uint64_t messages_sent = 0;
    std::uint64_t announcements_sent = 0;
    std::uint64_t announcements_unsent = 0;
    std::uint64_t announcements_overflowed = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t announcements_received = 0;
    std::uint64_t own_region = 0;
    std::uint64_t malformed = 0;
    std::uint64_t foreign = 0;
    std::uint64_t receive_overflowed = 0;
    std::uint64_t reconnects = 0;
};

// Statistics of the tracer. All zero without one.
struct TraceReadings {
    bool unavailable = false;
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
};

// Values that are read from their owners at each scrape.
struct Readings {
    std::uint64_t keys_held = 0;
    std::uint64_t keys_created = 0;
    std::uint64_t keys_expired = 0;
    std::uint64_t keys_started_over = 0;
    std::uint64_t keys_evicted = 0;
    std::uint64_t keys_evicted_unsynced = 0;
    std::uint64_t cas_retries = 0;
    std::uint64_t strict_activations = 0;
    OriginReadings origin = {};
    GlobalReadings global = {};
    BusReadings bus = {};
    std::uint64_t overrides_held = 0;
    ConnectionReadings connections;
    GrpcReadings grpc = {};
    TraceReadings trace = {};
    std::uint64_t log_lines_dropped = 0;
    std::uint64_t thread_failures = 0;
    bool ready = false;
};

struct MetricsOptions {
    std::string version;  // such as "0.2.0"
    std::string region;
    std::size_t threads = 1;
    std::function<Readings()> read;                     // called by the thread that scrapes
    std::function<void(std::string&)> write_more = {};  // appends further metrics; called as that
};

// The content type of write()'s text.
inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Metrics owns one ThreadMetrics for each serving thread, and one for the thread of the admin
// listener, and adds them up when it is scraped.
// Serving threads only write to their own, so a scrape costs them nothing.
//
// Thread-safe, but for what ThreadMetrics says about itself. A scrape is no snapshot: numbers that
// change meanwhile may be newer in a later line.
class Metrics {
  public:
    explicit Metrics(MetricsOptions options);

    std::size_t threads() const { return options_.threads; }
    ThreadMetrics& thread(std::size_t index) { return *threads_[index]; }
    const ThreadMetrics& thread(std::size_t index) const { return *threads_[index]; }
    ThreadMetrics& admin_thread() { return *threads_.back(); }

    // From any thread.
    void count_reload(Success success) {
        reloads_[static_cast<std::size_t>(success)].fetch_add(1, std::memory_order_relaxed);
    }

    // Appends all metrics in Prometheus' text format, each with its help and type.
    void write(std::string& out) const;

  private:
    // A label's name with its values.
    template <class By>
    struct LabelTexts {
        std::string_view name;
        const Texts<By>& texts;
    };

    void write_decisions(Text& text) const;
    static void write_keys(const Readings& readings, Text& text);
    static void write_origin(const OriginReadings& readings, Text& text);
    static void write_global(const GlobalReadings& readings, Text& text);
    static void write_bus(const BusReadings& readings, Text& text);
    void write_overrides(const Readings& readings, Text& text) const;
    void write_requests(Text& text) const;
    void write_histogram(std::size_t route, Text& text) const;
    static void write_connections(const ConnectionReadings& readings, Text& text);
    static void write_grpc(const GrpcReadings& readings, Text& text);
    static void write_trace(const TraceReadings& readings, Text& text);
    void write_process(const Readings& readings, Text& text) const;
    static void write_old_names(const Readings& readings, Text& text);

    template <class Read>
    std::uint64_t sum(Read read) const;
    template <class By, class Pick>
    void write_by(Text& text, const LabelTexts<By>& labels, Pick pick) const;

    const MetricsOptions options_;
    const std::chrono::steady_clock::time_point started_;
    const std::vector<std::unique_ptr<ThreadMetrics>> threads_;
    // Raised by whichever thread reloads. Relaxed: numbers that stand for themselves.
    std::array<std::atomic<std::uint64_t>, kCountOf<Success>> reloads_{};
};

}  // namespace sluice::metrics

#endif  // SLUICE_METRICS_METRICS_H_
