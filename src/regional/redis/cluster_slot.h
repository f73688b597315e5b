// Which of the slots of a Redis Cluster a key belongs to.
#ifndef SLUICE_REGIONAL_REDIS_CLUSTER_SLOT_H_
#define SLUICE_REGIONAL_REDIS_CLUSTER_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kClusterSlots = 16384;

// CRC-16/XMODEM, as Redis Cluster specifies it.
std::uint16_t crc16(std::string_view bytes);

// As Redis does it: by what stands between the first { and the } after it, if that is anything.
std::uint16_t cluster_slot(std::string_view key);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_CLUSTER_SLOT_H_
