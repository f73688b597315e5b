// The memory behind a string.
#ifndef SLUICE_BASE_ALLOCATED_BYTES_H_
#define SLUICE_BASE_ALLOCATED_BYTES_H_

#include <cstddef>
#include <string>

namespace sluice {

// Returns the bytes that `text` has allocated: none for a short string.
inline std::size_t allocated_bytes(const std::string& text) {
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? text.capacity() + 1 : 0;
}

}  // namespace sluice

#endif  // SLUICE_BASE_ALLOCATED_BYTES_H_
