// A thread that prepares large pages before a growing table needs them.
#ifndef SLUICE_COUNTER_PAGE_PROVISIONER_H_
#define SLUICE_COUNTER_PAGE_PROVISIONER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sched.h>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/turn_thread.h"

namespace sluice {

// A large table is read at random, and on pages of 4 KiB a processor looks up an address in as much
// memory as it then reads. Large pages spare that, but the system takes up to milliseconds to fill
// one, which no decision should pay. So a thread has them filled: blocks for entries, and the
// stretch of addresses that the buckets take up from front to back. It sleeps while the table is a
// small one. Where it can't keep up, or the system has no large pages, the table takes what memory
// there is.
//
// The first chunks are mapped once and filled page by page as they are used. A table that grows
// past them while the thread fills its first block must not call malloc: mapping memory waits for
// the kernel's lock on the address space, which the thread holds for milliseconds.
//
// The thread keeps off the processors on which chunks were lately taken, so that it never takes the
// place of a thread that decides, as long as it may run on any other.
//
// Thread-safe, but for start().
class PageProvisioner {
  public:
    static constexpr std::size_t kBlockBytes = std::size_t{2} << 20U;  // a large page
    static constexpr std::size_t kChunkBytes = std::size_t{64} << 10U;
    static constexpr std::size_t kSmall = 64;  // chunks that a small table takes: 4 MiB

    // How many bytes lie between `address` and the next large page.
    static std::size_t bytes_to_large_page(const void* address) {
        return -reinterpret_cast<std::uintptr_t>(address) % kBlockBytes;
    }

    // `stretch` is memory of zeros, outlives this, and begins on a large page.
    explicit PageProvisioner(std::span<std::byte> stretch) : stretch_(stretch) {}
    ~PageProvisioner();
    PageProvisioner(const PageProvisioner&) = delete;
    PageProvisioner& operator=(const PageProvisioner&) = delete;

    // Before chunks are taken; without it, none are ever ready. The thread may run where the one
    // that calls may.
    void start();

    // Returns kChunkBytes that live as long as this, or nullptr if none are ready.
    void* take_chunk();

    // Records how many bytes of the stretch are in use.
    void note_use(std::size_t bytes) {
        // Relaxed: a hint. The next one corrects one that comes late or out of order.
        stretch_used_.store(bytes, std::memory_order_relaxed);
    }

  private:
    static constexpr std::size_t kSpareBlocks = 2;
    // The chunks of a small table, and as many for while the first blocks are filled.
    static constexpr std::size_t kFirstChunks = 2 * kSmall;
    // By far more than is taken while as many blocks of entries are.
    static constexpr std::size_t kStretchAhead = 2 * kBlockBytes;

    bool is_needed();
    bool needs_block();
    void avoid_deciding_processors();
    void make_ready();
    void fill_stretch();

    const std::span<std::byte> stretch_;
    std::atomic<std::size_t> stretch_used_{0};
    // The thread's own, as the next two.
    std::size_t stretch_ready_ = 0;
    cpu_set_t allowed_{};  // where it may run at all
    cpu_set_t chosen_{};   // where it does

    ForkSafeMutex mutex_{ForkSafeMutex::Rank::kMemory};
    std::size_t chunks_asked_for_ SLUICE_GUARDED_BY(mutex_) = 0;
    bool has_given_up_ SLUICE_GUARDED_BY(mutex_) = false;  // the system refused
    // Where chunks were taken since the last avoid_deciding_processors().
    cpu_set_t taking_processors_ SLUICE_GUARDED_BY(mutex_){};
    std::byte* first_chunks_ SLUICE_GUARDED_BY(mutex_) = nullptr;
    std::size_t first_chunks_left_ SLUICE_GUARDED_BY(mutex_) = 0;
    std::vector<std::byte*> blocks_ SLUICE_GUARDED_BY(mutex_);
    std::size_t blocks_begun_ SLUICE_GUARDED_BY(mutex_) = 0;  // so many are in use, but for
    std::size_t left_ SLUICE_GUARDED_BY(mutex_) = 0;          // this rest of the last of these
    TurnThread thread_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_PAGE_PROVISIONER_H_
