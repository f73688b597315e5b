// The reply to a command that was sent a second time, within the time of the first.
#ifndef SLUICE_REGIONAL_REDIS_LATE_REPLY_H_
#define SLUICE_REGIONAL_REDIS_LATE_REPLY_H_

#include <chrono>

#include <boost/asio/io_context.hpp>

#include "regional/redis/redis_connection.h"

namespace sluice {

// Tells `replied` once: what the result is told first, or null at `deadline`.
Replied until(boost::asio::io_context& loop,
              std::chrono::steady_clock::time_point deadline,
              Replied replied);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_LATE_REPLY_H_
