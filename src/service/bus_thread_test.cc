#include "service/bus_thread.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "global/memory_bus.h"
#include "global/stored_name.h"
#include "service/open_bus.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

CellName cell(std::string identifier) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = Duration{60'000},
            .sequence = 7};
}

// Text that threads append to.
class SharedText {
  public:
    void add(const std::string& more) {
        const std::lock_guard lock(mutex_);
        text_ += more;
    }
    std::string get() const {
        const std::lock_guard lock(mutex_);
        return text_;
    }
    bool becomes(const std::string& wanted) const {
        const auto deadline = steady_clock::now() + std::chrono::seconds(20);
        while (get() != wanted && steady_clock::now() < deadline)
            std::this_thread::sleep_for(milliseconds(1));
        return get() == wanted;
    }

  private:
    mutable std::mutex mutex_;
    std::string text_;
};

class BusThreadTest : public testing::Test {
  protected:
    BusThreadTest()
        : us_(bus_->join("us",
                         {.other_region =
                              [this](const BusMessage& message) {
                                  for (const RegionCount& count : message.counts)
                                      received_.add(count.cell.identifier + "=" +
                                                    std::to_string(count.count) + " ");
                              }})),
          eu_(bus_->join("eu", {}), [this](const BusChange& change) {
              changes_.add(change.unavailable ? "down: " + change.why + "; " : "up; ");
          }) {}

    const std::shared_ptr<MemoryBus> bus_ = MemoryBus::create();
    SharedText received_;
    SharedText changes_;
    const std::unique_ptr<Bus> us_;
    BusThread eu_;
};

TEST_F(BusThreadTest, AnnouncesWhatIsQueuedTogether) {
    const auto begin = steady_clock::now();
    for (Count i = 1; i <= 5; ++i)
        eu_.queue().add(cell("a"), i, begin);
    eu_.queue().add(cell("b"), 1, begin);
    EXPECT_TRUE(received_.becomes("a=5 b=1 ")) << received_.get();
    EXPECT_GE(steady_clock::now() - begin, AnnounceQueue::kGather);
    EXPECT_EQ(eu_.stats().messages_sent, 1U);
    EXPECT_EQ(eu_.stats().announcements_sent, 2U);
    eu_.queue().add(cell("a"), 6, steady_clock::now());
    EXPECT_TRUE(received_.becomes("a=5 b=1 a=6 ")) << received_.get();
}

TEST_F(BusThreadTest, ReportsAnOutageAndItsEndOnceEach) {
    EXPECT_FALSE(eu_.is_unavailable());
    bus_->set_outage("no route to host");
    EXPECT_TRUE(changes_.becomes("down: no route to host; ")) << changes_.get();
    EXPECT_TRUE(eu_.is_unavailable());
    EXPECT_TRUE(eu_.stats().unavailable);
    // One after the other, so that none is queued when the outage ends.
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    for (std::uint64_t added = 1; added <= 3; ++added) {
        eu_.queue().add(cell("a"), added, steady_clock::now());
        while (eu_.stats().announcements_unsent < added && steady_clock::now() < deadline)
            std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(eu_.stats().announcements_unsent, 3U);
    bus_->set_outage(std::nullopt);
    EXPECT_TRUE(changes_.becomes("down: no route to host; up; ")) << changes_.get();
    EXPECT_FALSE(eu_.is_unavailable());
    EXPECT_EQ(eu_.stats().reconnects, 1U);
    EXPECT_EQ(received_.get(), "");
}

TEST_F(BusThreadTest, SendsNothingAfterItIsClosed) {
    EXPECT_TRUE(eu_.close(std::chrono::steady_clock::now() + kLastTurn));
    eu_.queue().add(cell("a"), 1, steady_clock::now());
    std::this_thread::sleep_for(milliseconds(40));
    EXPECT_EQ(received_.get(), "");
}

TEST(BusOption, NeedsAGlobalStoreAndAKnownKind) {
    const auto message_of = [](Options options) {
        const auto limiter = Limiter::create(std::move(options));
        return limiter ? "" : limiter.error().message;
    };
    EXPECT_EQ(
        message_of({.bus = "memory:b"}),
        "bus is set and global is empty; allowed with a bus: the global store of the regions, "
        "which carries what the bus loses");
    EXPECT_EQ(message_of({.region = "eu", .global = "memory:g", .bus = "kafka://x"}),
              "bus is of no known kind; allowed: nats://, tls:// and memory:NAME");
    const std::string missing = message_of({.region = "eu",
                                            .global = "memory:g",
                                            .bus = "nats://127.0.0.1:1",
                                            .bus_credentials = "/no/such/file"});
    EXPECT_TRUE(missing.starts_with("bus: the credentials file for the bus, \"/no/such/file\", "))
        << missing;
}

TEST(BusOption, NamesWorkspacesAsAnnouncementsDo) {
    CellName name = cell("a");
    name.workspace = std::string(200, 'w');
    const std::string stored = stored_name(name).workspace;
    EXPECT_NE(stored, name.workspace);
    EXPECT_EQ(stored_workspaces({"acme", name.workspace}),
              (std::vector<std::string>{"acme", stored}));
}

TEST(BusOption, AttachesABus) {
    const Options options{
        .region = "eu", .global = "memory:bus_option", .bus = "memory:bus_option"};
    const auto limiter = Limiter::create(options);
    ASSERT_TRUE(limiter) << limiter.error().message;
    EXPECT_TRUE(limiter->stats().bus.attached);
    EXPECT_FALSE(limiter->stats().bus.unavailable);
    MemoryBus::named("bus_option")->inject("hello");
    EXPECT_EQ(limiter->stats().bus.malformed_messages, 1U);
}

}  // namespace
}  // namespace sluice
