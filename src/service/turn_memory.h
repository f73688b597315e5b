// Memory for one posted handler at a time.
#ifndef SLUICE_SERVICE_TURN_MEMORY_H_
#define SLUICE_SERVICE_TURN_MEMORY_H_

#include <cstddef>

#include "base/check.h"

namespace sluice {

// Asio allocates what it posts. A handler of which at most one is posted at a time can have its
// memory here instead, so that posting it can't fail. Asio lets go of the memory before it calls
// the handler.
//
// Thread-compatible: whoever posts makes sure that it is free.
class TurnMemory {
  public:
    template <class T>
    struct Allocator {
        using value_type = T;

        explicit Allocator(TurnMemory& owner) : memory(&owner) {}
        template <class U>
        Allocator(const Allocator<U>& other)  // NOLINT(google-explicit-constructor)
            : memory(other.memory) {}

        T* allocate(std::size_t count) {
            static_assert(alignof(T) <= alignof(std::max_align_t));
            SLUICE_CHECK(count * sizeof(T) <= sizeof memory->bytes_);
            return reinterpret_cast<T*>(memory->bytes_);
        }
        void deallocate(T*, std::size_t) {}

        friend bool operator==(const Allocator&, const Allocator&) = default;
        TurnMemory* memory;
    };

    Allocator<std::byte> allocator() { return Allocator<std::byte>(*this); }

  private:
    alignas(std::max_align_t) std::byte bytes_[256];
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_TURN_MEMORY_H_
