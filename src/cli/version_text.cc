#include "cli/version_text.h"

#include <algorithm>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <hiredis/hiredis.h>
#include <mariadb/mysql.h>
#include <openssl/crypto.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <toml++/impl/version.h>
#include <xxhash.h>

#include "cli/commit.h"
#include "cli/version.h"

namespace sluice::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

std::string dotted(long major, long minor, long patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string libraries() {
    // Shared libraries say what they are now; headers what they were when this was compiled.
    return "Boost " +
           dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100) +
           "\nCLI11 " + CLI11_VERSION + "\nhiredis " +
           dotted(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH) + "\nMariaDB Connector/C " +
           mysql_get_client_info() + "\nOpenSSL " + OpenSSL_version(OPENSSL_VERSION_STRING) +
           "\nsimdjson " +
           dotted(simdjson::SIMDJSON_VERSION_MAJOR,
                  simdjson::SIMDJSON_VERSION_MINOR,
                  simdjson::SIMDJSON_VERSION_REVISION) +
           "\nSQLite " + sqlite3_libversion() + "\ntoml++ " +
           dotted(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH) + "\nxxHash " +
           dotted(XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

}  // namespace

std::string version_text() {
    return std::string("sluice ") + kVersion + "\ncommit " + kCommit + "\ncompiler " + kCompiler +
           "\n" + libraries();
}

}  // namespace sluice::cli
