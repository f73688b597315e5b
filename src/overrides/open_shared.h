// The shared store of overrides that a URL names.
#ifndef SLUICE_OVERRIDES_OPEN_SHARED_H_
#define SLUICE_OVERRIDES_OPEN_SHARED_H_

#include <sluice/result.h>

#include <memory>
#include <string>

#include "overrides/store.h"

namespace sluice::overrides {

// Opens the store in the database that holds the regions' counts: mysql://... or sqlite:PATH. One
// that can't be reached is no error: calls to the store tell.
Result<std::unique_ptr<OverrideStore>> open_shared(const std::string& url);

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_OPEN_SHARED_H_
