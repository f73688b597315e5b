// Stores of a test on a real server.
#ifndef SLUICE_TESTS_SUPPORT_STORE_CLIENT_H_
#define SLUICE_TESTS_SUPPORT_STORE_CLIENT_H_

#include <chrono>
#include <string>

#include "global/mysql/mysql_global_store.h"
#include "support/store_calls.h"

namespace sluice::mariadb_test {

inline constexpr std::chrono::seconds kVeryLong{3'600};

// With timeouts that no machine exceeds: a test that relies on one hangs.
inline MysqlGlobalOptions patient(MysqlUrl url, std::string region = "eu") {
    return {.server = {.url = std::move(url),
                       .connect_timeout = std::chrono::seconds{30},
                       .answer_timeout = kVeryLong,
                       .lock_timeout = std::chrono::seconds{30}},
            .region = std::move(region)};
}

}  // namespace sluice::mariadb_test

#endif  // SLUICE_TESTS_SUPPORT_STORE_CLIENT_H_
