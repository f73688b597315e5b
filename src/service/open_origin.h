// The origin that a URL names: checking the URL, and opening the origin.
#ifndef SLUICE_SERVICE_OPEN_ORIGIN_H_
#define SLUICE_SERVICE_OPEN_ORIGIN_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <memory>
#include <optional>
#include <string>

#include "regional/origin.h"

namespace boost::asio {
class io_context;
}

namespace sluice {

// Returns what is wrong with Options::origin; none if it is of a known form. Holds no secret of it.
std::optional<Error> invalid_origin(const std::string& url);

// Options::origin without its password, for logs.
std::string shown_origin(const std::string& url);

// Opens Options::origin, which is not empty, to run on `loop`. An origin that can't be reached is
// no error: it is unavailable.
Result<std::unique_ptr<Origin>> open_origin(const Options& options, boost::asio::io_context& loop);

}  // namespace sluice

#endif  // SLUICE_SERVICE_OPEN_ORIGIN_H_
