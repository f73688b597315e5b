// The global store that a URL names.
#ifndef SLUICE_SERVICE_OPEN_GLOBAL_H_
#define SLUICE_SERVICE_OPEN_GLOBAL_H_

#include <sluice/result.h>

#include <memory>
#include <optional>
#include <string>

#include "global/store.h"

namespace sluice {

// Where a global store is:
//
//     mysql://[user[:password]@]host[:port]/database   MySQL or MariaDB; see mysql/mysql_url.h
//     sqlite:PATH                                      a file, for processes of one machine
//     memory:NAME                                      those of this process that give that name
//
// What is wrong with such a URL; nothing if it is of a known form. Holds no secret of it.
std::optional<Error> invalid_global(const std::string& url);

// The URL as it may be shown: without its password.
std::string shown_global(const std::string& url);

struct GlobalPlace {
    std::string url;
    std::string region;  // whose components are published
};

// Opens what a URL names. A server that can't be reached, or a file, is no error: calls to the
// store tell.
Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place);

}  // namespace sluice

#endif  // SLUICE_SERVICE_OPEN_GLOBAL_H_
