// The memory that a change of one override takes, whatever else is held.
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "overrides/snapshot.h"

namespace {

std::size_t allocated = 0;
std::size_t held = 0;  // of these, not freed yet

// Where the compiler sees through these two it takes malloc and delete for a pair that doesn't
// match.
[[gnu::noinline]] void* take(std::size_t size) noexcept {
    allocated += size;
    void* const memory = std::malloc(size);  // NOLINT: this is what new is made of
    held += malloc_usable_size(memory);
    return memory;
}

[[gnu::noinline]] void give_back(void* memory) noexcept {
    held -= malloc_usable_size(memory);
    std::free(memory);  // NOLINT
}

}  // namespace

void* operator new(std::size_t size) {
    void* memory = take(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return take(size);
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete[](void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    give_back(memory);
}

namespace sluice::overrides {
namespace {

Override override_in(const std::string& name_space, const std::string& identifier) {
    return {.workspace = "w",
            .name_space = name_space,
            .identifier = identifier,
            .id = "rlor_1",
            .value = {.limit = 1, .duration = std::chrono::seconds{1}},
            .order = 1};
}

std::shared_ptr<const Snapshot> snapshot_of(int namespaces) {
    std::vector<Override> overrides;
    for (int i = 0; i < namespaces; ++i)
        overrides.push_back(override_in("namespace " + std::to_string(i), "i"));
    return std::make_shared<const Snapshot>(std::move(overrides), 7);
}

// As many texts between two `*` as 512 bytes can hold where they all branch.
std::string branching_pattern() {
    std::string pattern = "*";
    for (char first = 'a'; pattern.size() + 4 <= 512; ++first) {
        for (char second = 'a'; second <= 'h' && pattern.size() + 4 <= 512; ++second)
            pattern += {first, second, second, '*'};
    }
    return pattern;
}

TEST(SnapshotAllocation, OneOverrideInANamespaceTakesLittleMemoryWhateverItsPattern) {
    constexpr int kNamespaces = 50;
    std::vector<Override> overrides;
    for (int i = 0; i < kNamespaces; ++i)
        overrides.push_back(override_in("namespace " + std::to_string(i), branching_pattern()));
    const std::size_t before = held;
    const Snapshot snapshot(overrides, 7);
    EXPECT_LT((held - before) / kNamespaces, 12U * 1024);
}

// The bytes that it takes to set one override more, and to remove it again.
std::size_t cost_of_a_change(const Snapshot& snapshot) {
    const std::size_t before = allocated;
    const auto next = snapshot.with(override_in("namespace 5", "j"));
    (void)next->without({"w", "namespace 5", "j"});
    return allocated - before;
}

TEST(SnapshotAllocation, AChangeDoesNotCopyOtherNamespaces) {
    const std::size_t among_few = cost_of_a_change(*snapshot_of(10));
    const std::size_t among_many = cost_of_a_change(*snapshot_of(20'000));
    EXPECT_LT(among_many, among_few + 16 * 1024);
}

}  // namespace
}  // namespace sluice::overrides
