#include "counter/page_provisioner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kBlock = PageProvisioner::kBlockBytes;
constexpr std::size_t kChunk = PageProvisioner::kChunkBytes;

// Addresses that cost no memory until something is written to them.
class Stretch {
  public:
    explicit Stretch(std::size_t bytes)
        : bytes_(bytes),
          mapped_(mmap(nullptr,
                       bytes + kBlock,
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0)) {
        EXPECT_NE(mapped_, MAP_FAILED);
    }
    ~Stretch() { munmap(mapped_, bytes_ + kBlock); }
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

    std::span<std::byte> all() const {
        const std::size_t before = PageProvisioner::bytes_to_large_page(mapped_);
        return {static_cast<std::byte*>(mapped_) + before, bytes_};
    }

    bool is_filled(std::size_t from, std::size_t to) const {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        std::vector<unsigned char> pages((to - from) / page);
        EXPECT_EQ(mincore(all().data() + from, to - from, pages.data()), 0);
        return std::ranges::all_of(pages, [](unsigned char filled) { return (filled & 1U) != 0; });
    }

  private:
    std::size_t bytes_;
    void* mapped_;
};

template <class Condition>
bool comes_true(Condition condition) {
    const auto end = steady_clock::now() + milliseconds(20'000);
    while (!condition()) {
        if (steady_clock::now() > end) return false;
        std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
}

// Takes every chunk that needs no block. None may be missing: the caller would allocate while the
// thread fills the first block, and wait for it.
void outgrow_small(PageProvisioner& memory) {
    for (std::size_t i = 0; i < 2 * PageProvisioner::kSmall; ++i)
        ASSERT_NE(memory.take_chunk(), nullptr);
}

void* wait_for_chunk(PageProvisioner& memory) {
    void* chunk = nullptr;
    EXPECT_TRUE(comes_true([&] { return (chunk = memory.take_chunk()) != nullptr; }));
    return chunk;
}

TEST(PageProvisioner, FillsNothingForSmallTables) {
    const Stretch stretch(4 * kBlock);
    PageProvisioner memory(stretch.all());
    memory.start();
    for (std::size_t i = 1; i < PageProvisioner::kSmall; ++i)
        ASSERT_NE(memory.take_chunk(), nullptr);
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_FALSE(stretch.is_filled(0, kBlock));
}

TEST(PageProvisioner, WithoutItsThreadThereIsNone) {
    const Stretch stretch(4 * kBlock);
    PageProvisioner memory(stretch.all());
    for (std::size_t i = 0; i < 2 * PageProvisioner::kSmall; ++i)
        ASSERT_EQ(memory.take_chunk(), nullptr);
}

TEST(PageProvisioner, ChunksAreZerosAndEachIsGivenOnce) {
    const Stretch stretch(4 * kBlock);
    PageProvisioner memory(stretch.all());
    memory.start();
    outgrow_small(memory);
    const std::vector<std::byte> zeros(kChunk);
    std::set<void*> seen;
    for (std::size_t i = 0; i < 5 * kBlock / kChunk; ++i) {
        void* const chunk = wait_for_chunk(memory);
        ASSERT_NE(chunk, nullptr);
        ASSERT_TRUE(seen.insert(chunk).second);
        ASSERT_EQ(std::memcmp(chunk, zeros.data(), kChunk), 0);
        std::memset(chunk, 0xFF, kChunk);
    }
}

// Used memory stays as it is; the next pages are filled before they are needed.
TEST(PageProvisioner, TheStretchIsFilledAheadOfItsUse) {
    const Stretch stretch(16 * kBlock);
    PageProvisioner memory(stretch.all());
    memory.start();
    std::ranges::fill(stretch.all().first(100), std::byte{7});
    memory.note_use(100);
    outgrow_small(memory);
    EXPECT_TRUE(comes_true([&] { return stretch.is_filled(kBlock, 3 * kBlock); }));
    EXPECT_FALSE(stretch.is_filled(3 * kBlock, 4 * kBlock));
    EXPECT_EQ(stretch.all()[99], std::byte{7});

    memory.note_use(5 * kBlock);
    const auto filled = [&] {
        memory.take_chunk();
        return stretch.is_filled(5 * kBlock, 7 * kBlock);
    };
    EXPECT_TRUE(comes_true(filled));
}

TEST(PageProvisioner, FillsWholeLargePagesOfTheStretchOnly) {
    const Stretch stretch(2 * kBlock + kBlock / 2);
    PageProvisioner memory(stretch.all());
    memory.start();
    memory.note_use(100);
    outgrow_small(memory);
    EXPECT_NE(wait_for_chunk(memory), nullptr);
    EXPECT_TRUE(stretch.is_filled(kBlock, 2 * kBlock));
    EXPECT_FALSE(stretch.is_filled(2 * kBlock, stretch.all().size()));
}

TEST(PageProvisioner, ThreadsNeverShareAChunk) {
    const Stretch stretch(4 * kBlock);
    PageProvisioner memory(stretch.all());
    memory.start();
    outgrow_small(memory);
    constexpr std::size_t kEach = 50;
    std::array<std::vector<void*>, 3> taken;
    {
        std::vector<std::jthread> threads;
        for (auto& mine : taken) {
            threads.emplace_back([&] {
                for (std::size_t i = 0; i < kEach; ++i) {
                    void* const chunk = wait_for_chunk(memory);
                    if (chunk == nullptr) return;
                    std::memset(chunk, 1, kChunk);
                    mine.push_back(chunk);
                    memory.note_use(i * kChunk);
                }
            });
        }
    }
    std::set<void*> seen;
    for (const auto& mine : taken) {
        EXPECT_EQ(mine.size(), kEach);
        for (void* const chunk : mine)
            EXPECT_TRUE(seen.insert(chunk).second);
    }
}

// The processors that the thread of this process with that name may use; none if there is no such
// thread.
std::optional<cpu_set_t> processors_of(const std::string& name) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string comm;
        std::getline(std::ifstream(task.path() / "comm"), comm);
        if (comm != name) continue;
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set) == 0) return set;
    }
    return std::nullopt;
}

TEST(PageProvisioner, ItsThreadKeepsOffTheProcessorThatTakesChunks) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one processor";
    for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &all)) continue;
        const Stretch stretch(4 * kBlock);
        PageProvisioner memory(stretch.all());
        memory.start();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        outgrow_small(memory);
        EXPECT_NE(wait_for_chunk(memory), nullptr);
        const auto used = processors_of("sluice-memory");
        ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
        ASSERT_TRUE(used.has_value());
        EXPECT_FALSE(CPU_ISSET(processor, &*used)) << processor;
        EXPECT_EQ(CPU_COUNT(&*used), CPU_COUNT(&all) - 1) << "it may use all other processors";
    }
}

TEST(PageProvisioner, AChildProcessDoesNotWaitForItsParentsThread) {
    const Stretch stretch(4 * kBlock);
    auto memory = std::make_unique<PageProvisioner>(stretch.all());
    memory->start();
    std::this_thread::sleep_for(milliseconds(50));  // it waits by then
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        alarm(10);
        memory.reset();
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sluice
