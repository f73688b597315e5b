// Opening the origin that a URL names (url/store_url.h).
#ifndef SLUICE_SERVICE_OPEN_ORIGIN_H_
#define SLUICE_SERVICE_OPEN_ORIGIN_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <memory>

#include "regional/origin.h"

namespace boost::asio {
class io_context;
}

namespace sluice {

// Opens what Options::origin names, which is not empty, to run on `loop`. An origin that can't be
// reached is no error: it is unavailable.
Result<std::unique_ptr<Origin>> open_origin(const Options& options, boost::asio::io_context& loop);

}  // namespace sluice

#endif  // SLUICE_SERVICE_OPEN_ORIGIN_H_
