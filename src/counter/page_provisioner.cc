#include "counter/page_provisioner.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

namespace sluice {
namespace {

// False if the system can't.
bool fill_with_large_pages(std::byte* start, std::size_t bytes) {
    madvise(start, bytes, MADV_HUGEPAGE);  // a system without them fills small ones
    return madvise(start, bytes, MADV_POPULATE_WRITE) == 0;
}

// Maps `bytes` of zeros that begin on a large page. nullptr if the system can't.
std::byte* map_from_large_page(std::size_t bytes) {
    void* const found = mmap(nullptr,
                             bytes + PageProvisioner::kBlockBytes,
                             PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                             -1,
                             0);
    if (found == MAP_FAILED) return nullptr;
    auto* const start = static_cast<std::byte*>(found);
    const std::size_t before = PageProvisioner::bytes_to_large_page(start);
    std::byte* const aligned = start + before;
    if (before > 0) munmap(start, before);
    munmap(aligned + bytes, PageProvisioner::kBlockBytes - before);
    return aligned;
}

// nullptr if the system can't.
std::byte* make_block() {
    std::byte* const block = map_from_large_page(PageProvisioner::kBlockBytes);
    if (block == nullptr) return nullptr;
    if (fill_with_large_pages(block, PageProvisioner::kBlockBytes)) return block;
    munmap(block, PageProvisioner::kBlockBytes);
    return nullptr;
}

// A thread that decides and wakes this one goes on, even on the same processor.
void set_up_thread() {
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

}  // namespace

PageProvisioner::~PageProvisioner() {
    thread_.stop();
    for (std::byte* const block : blocks_)
        munmap(block, kBlockBytes);
    if (first_chunks_ != nullptr) munmap(first_chunks_, kFirstChunks * kChunkBytes);
}

void PageProvisioner::start() {
    sched_getaffinity(0, sizeof allowed_, &allowed_);
    chosen_ = allowed_;
    {
        const MutexLock lock(mutex_);
        first_chunks_ = map_from_large_page(kFirstChunks * kChunkBytes);
        first_chunks_left_ = first_chunks_ == nullptr ? 0 : kFirstChunks;
    }
    try {
        thread_.start({.name = "sluice-memory"}, [this, is_set_up = false]() mutable {
            if (!std::exchange(is_set_up, true)) set_up_thread();
            if (is_needed()) make_ready();
            return TurnThread::Time::clock::now() + std::chrono::hours(1);
        });
    } catch (const std::system_error&) {  // no more threads: it goes without
    }
}

void* PageProvisioner::take_chunk() {
    const MutexLock lock(mutex_);
    if (const int processor = sched_getcpu(); processor >= 0)
        CPU_SET(static_cast<std::size_t>(processor), &taking_processors_);
    if (++chunks_asked_for_ == kSmall) thread_.wake();
    if (left_ == 0 && blocks_begun_ < blocks_.size()) {
        ++blocks_begun_;
        left_ = kBlockBytes;
        thread_.wake();
    }
    if (left_ > 0) {
        left_ -= kChunkBytes;
        return blocks_[blocks_begun_ - 1] + left_;
    }
    if (first_chunks_left_ > 0) return first_chunks_ + --first_chunks_left_ * kChunkBytes;
    return nullptr;
}

bool PageProvisioner::is_needed() {
    const MutexLock lock(mutex_);
    return chunks_asked_for_ >= kSmall;
}

bool PageProvisioner::needs_block() {
    const MutexLock lock(mutex_);
    return !has_given_up_ && blocks_.size() < blocks_begun_ + kSpareBlocks;
}

// Where all that it may use were taken from, it goes anywhere: the scheduler knows best.
void PageProvisioner::avoid_deciding_processors() {
    cpu_set_t rest;
    {
        const MutexLock lock(mutex_);
        if (CPU_COUNT(&taking_processors_) == 0) return;  // nothing was taken since the last choice
        CPU_AND(&rest, &allowed_, &taking_processors_);
        CPU_XOR(&rest, &allowed_, &rest);
        CPU_ZERO(&taking_processors_);
    }
    if (CPU_COUNT(&rest) == 0) rest = allowed_;
    if (CPU_EQUAL(&rest, &chosen_)) return;
    chosen_ = rest;
    sched_setaffinity(0, sizeof rest, &rest);
}

void PageProvisioner::make_ready() {
    avoid_deciding_processors();
    fill_stretch();
    while (needs_block()) {
        std::byte* const block = make_block();
        const MutexLock lock(mutex_);
        try {
            if (block != nullptr) blocks_.push_back(block);
        } catch (const std::bad_alloc&) {
            munmap(block, kBlockBytes);
            has_given_up_ = true;
        }
        if (block == nullptr) has_given_up_ = true;
    }
}

// Begins with the first large page that the table has not reached yet.
void PageProvisioner::fill_stretch() {
    const std::size_t used = stretch_used_.load(std::memory_order_relaxed);
    const std::size_t reached = (used + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    const std::size_t whole = stretch_.size() / kBlockBytes * kBlockBytes;
    const std::size_t from = std::max(stretch_ready_, reached);
    const std::size_t to = std::min(reached + kStretchAhead, whole);
    if (from >= to) return;
    fill_with_large_pages(stretch_.data() + from, to - from);
    stretch_ready_ = to;
}

}  // namespace sluice
