// The global store that a URL names.
#ifndef SLUICE_SERVICE_OPEN_GLOBAL_H_
#define SLUICE_SERVICE_OPEN_GLOBAL_H_

#include <sluice/result.h>

#include <memory>
#include <string>

#include "global/store.h"

namespace sluice {

struct GlobalPlace {
    std::string url;
    std::string region;  // whose components are published
};

// Opens the store that a URL names (see url/store_url.h). A server or a file that can't be reached
// is not an error here: calls to the store report it.
Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place);

}  // namespace sluice

#endif  // SLUICE_SERVICE_OPEN_GLOBAL_H_
