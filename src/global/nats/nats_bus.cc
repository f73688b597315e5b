#include "global/nats/nats_bus.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <set>
#include <utility>
#include <variant>

#include <nats/nats.h>

#include "base/jitter.h"
#include "base/mutex.h"
#include "global/announcement_codec.h"
#include "global/bus_inbox.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = TurnThread::Time;

constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLongestDelay{5'000};
// How often the connection is checked while nothing is sent.
constexpr milliseconds kCheck{200};

void raise(BusTally::Counter& counter, std::uint64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
}

std::vector<std::string> subjects_of(const std::vector<std::string>& workspaces) {
    if (workspaces.empty()) return {"sluice.v1.*"};
    std::set<std::string> subjects;
    for (const std::string& workspace : workspaces)
        subjects.insert(subject_of(shard_of(workspace)));
    return {subjects.begin(), subjects.end()};
}

}  // namespace

std::string subject_of(std::uint8_t shard) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string subject = "sluice.v1.";
    subject += kDigits[shard >> 4U];
    subject += kDigits[shard & 0xFU];
    return subject;
}

// The connection, and the queue in front of it. turn() is for one thread; the others are
// thread-safe.
class NatsBus::Link {
  public:
    Link(NatsBusOptions options, Receivers receivers)
        : access_{.url = std::move(options.url),
                  .tls = std::move(options.tls),
                  .credentials = std::move(options.credentials),
                  .region = options.region,
                  .subjects = subjects_of(options.workspaces),
                  .greeting = encode_greeting(options.region),
                  .greeting_subject = subject_of(0),
                  .thread = {.name = "sluice-nats",
                             .on_failure = std::move(options.on_thread_failure)}},
          most_queued_bytes_(options.most_queued_bytes),
          jitter_(options.seed),
          next_server_(options.seed % access_.url.servers.size()),
          inbox_(std::make_shared<BusInbox>(options.region, std::move(receivers))) {}

    const NatsAccess& access() const { return access_; }
    BusInbox& inbox() { return *inbox_; }

    bool push(std::vector<EncodedAnnouncement> messages);
    BusStatus status() const;

    // Connects, publishes what is queued, and checks the connection. Returns when to be called
    // again.
    Time turn();
    // Makes a turn end soon.
    void stop() { is_stopping_.store(true, std::memory_order_relaxed); }
    void disconnect() { connection_.reset(); }

  private:
    void connect();
    void connected(std::unique_ptr<NatsConnection> connection);
    void retry_later(std::string problem);
    std::optional<std::string> publish_queued();
    std::optional<EncodedAnnouncement> pop();
    void lose(std::string problem);
    std::size_t clear_queue() SLUICE_REQUIRES(mutex_);

    const NatsAccess access_;
    const std::size_t most_queued_bytes_;

    // The thread's.
    Jitter jitter_;
    std::size_t next_server_;
    milliseconds delay_ = kFirstDelay;
    Time connect_at_ = Time::min();
    bool has_connected_ = false;  // ever
    std::unique_ptr<NatsConnection> connection_;

    const std::shared_ptr<BusInbox> inbox_;
    std::atomic<bool> is_stopping_{false};  // set once; relaxed: a hint

    mutable Mutex mutex_;
    bool is_connected_ SLUICE_GUARDED_BY(mutex_) = false;
    std::string problem_ SLUICE_GUARDED_BY(mutex_);
    std::deque<EncodedAnnouncement> queue_ SLUICE_GUARDED_BY(mutex_);  // empty unless connected
    std::size_t queued_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
};

bool NatsBus::Link::push(std::vector<EncodedAnnouncement> messages) {
    BusTally& tally = inbox_->tally();
    const MutexLock lock(mutex_);
    for (EncodedAnnouncement& message : messages) {
        if (!is_connected_) {
            raise(tally.announcements_unsent, message.counts);
            continue;
        }
        queued_bytes_ += message.bytes.size();
        queue_.push_back(std::move(message));
    }
    while (queued_bytes_ > most_queued_bytes_) {
        raise(tally.announcements_overflowed, queue_.front().counts);
        queued_bytes_ -= queue_.front().bytes.size();
        queue_.pop_front();
    }
    return is_connected_;
}

BusStatus NatsBus::Link::status() const {
    const MutexLock lock(mutex_);
    return {.is_connected = is_connected_, .problem = problem_};
}

Time NatsBus::Link::turn() {
    if (connection_ == nullptr && steady_clock::now() >= connect_at_) connect();
    if (connection_ == nullptr) return connect_at_;
    auto problem = publish_queued();
    if (!problem) problem = connection_->problem();
    raise(inbox_->tally().receive_overflowed, connection_->take_overflowed());
    if (problem) lose(*std::move(problem));
    return connection_ == nullptr ? connect_at_ : steady_clock::now() + kCheck;
}

// Tries each server once, beginning with the one after the last tried.
void NatsBus::Link::connect() {
    const std::vector<HostPort>& servers = access_.url.servers;
    std::string problems;
    for (std::size_t tries = 0; tries < servers.size(); ++tries) {
        if (is_stopping_.load(std::memory_order_relaxed)) return;
        const HostPort& server = servers[next_server_];
        next_server_ = (next_server_ + 1) % servers.size();
        auto opened = NatsConnection::open(access_, server, inbox_);
        if (auto* const connection = std::get_if<0>(&opened))
            return connected(std::move(*connection));
        problems += (problems.empty() ? "" : "; ") + std::get<std::string>(opened);
    }
    retry_later(std::move(problems));
}

void NatsBus::Link::connected(std::unique_ptr<NatsConnection> connection) {
    connection_ = std::move(connection);
    delay_ = kFirstDelay;
    if (std::exchange(has_connected_, true)) raise(inbox_->tally().reconnects, 1);
    const MutexLock lock(mutex_);
    is_connected_ = true;
    problem_.clear();
}

void NatsBus::Link::retry_later(std::string problem) {
    connect_at_ = steady_clock::now() + jitter_.up_to(delay_);
    delay_ = std::min(2 * delay_, kLongestDelay);
    nats_ReleaseThreadMemory();
    const MutexLock lock(mutex_);
    is_connected_ = false;
    problem_ = std::move(problem);
    raise(inbox_->tally().announcements_unsent, clear_queue());
}

// Returns why the connection is lost, if it is.
std::optional<std::string> NatsBus::Link::publish_queued() {
    BusTally& tally = inbox_->tally();
    while (const auto message = pop()) {
        if (is_stopping_.load(std::memory_order_relaxed)) return std::nullopt;
        auto problem = connection_->publish(subject_of(message->shard), message->bytes);
        if (problem) {
            raise(tally.announcements_unsent, message->counts);
            return problem;
        }
        raise(tally.messages_sent, 1);
        raise(tally.announcements_sent, message->counts);
    }
    return std::nullopt;
}

std::optional<EncodedAnnouncement> NatsBus::Link::pop() {
    const MutexLock lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    EncodedAnnouncement message = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= message.bytes.size();
    return message;
}

// First refuses to queue more: closing may take a moment.
void NatsBus::Link::lose(std::string problem) {
    retry_later(std::move(problem));
    connection_.reset();
}

std::size_t NatsBus::Link::clear_queue() {
    std::size_t counts = 0;
    for (const EncodedAnnouncement& message : queue_)
        counts += message.counts;
    queue_.clear();
    queued_bytes_ = 0;
    return counts;
}

Result<std::unique_ptr<Bus>> NatsBus::open(NatsBusOptions options, Receivers receivers) {
    auto link = std::make_shared<Link>(std::move(options), std::move(receivers));
    if (auto error = unusable_files(link->access())) return *std::move(error);
    return std::unique_ptr<Bus>(new NatsBus(std::move(link)));
}

NatsBus::NatsBus(std::shared_ptr<Link> link) : link_(std::move(link)) {
    thread_.start(link_->access().thread, [held = link_] { return held->turn(); });
}

NatsBus::~NatsBus() {
    NatsBus::close();
}

bool NatsBus::send(std::span<const RegionCount> counts) {
    const bool is_queued =
        link_->push(encode_announcements(link_->access().region, {counts.begin(), counts.end()}));
    if (is_queued && !counts.empty()) thread_.wake();
    return is_queued;
}

BusStatus NatsBus::status() const {
    return link_->status();
}

BusCounts NatsBus::counts() const {
    return link_->inbox().tally().read();
}

void NatsBus::close() {
    link_->inbox().close();
    link_->stop();
    if (thread_.stop(steady_clock::now() + kLastTurn)) link_->disconnect();
}

}  // namespace sluice
