// The URLs of stores that settings name: whether they are valid, and how they are shown.
#ifndef SLUICE_URL_STORE_URL_H_
#define SLUICE_URL_STORE_URL_H_

#include <sluice/result.h>

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr std::string_view kMemoryScheme = "memory:";
inline constexpr std::string_view kSqliteScheme = "sqlite:";

// Checks the URL of an origin, one of
//
//     redis://..., rediss://..., redis+sentinel://..., redis+socket://...   see url/redis_url.h
//     sqlite:PATH                                                           a file
//     memory:NAME                                                           shared within a process
//
// The error contains no secrets.
std::optional<Error> invalid_origin(const std::string& url);

// Checks the URL of a global store, one of
//
//     mysql://[user[:password]@]host[:port]/database   MySQL or MariaDB; see url/mysql_url.h
//     sqlite:PATH                                      a file, for the processes of one machine
//     memory:NAME                                      shared within a process
//
// The error contains no secrets.
std::optional<Error> invalid_global(const std::string& url);

// Checks the URL of a bus, one of
//
//     nats://..., tls://...   NATS; see url/nats_url.h
//     memory:NAME             shared within a process
//
// The error contains no secrets.
std::optional<Error> invalid_bus(const std::string& url);

bool is_mysql_url(std::string_view url);

// The URL without its password, for people and logs.
std::string shown_origin(const std::string& url);
std::string shown_global(const std::string& url);
std::string shown_bus(const std::string& url);

}  // namespace sluice

#endif  // SLUICE_URL_STORE_URL_H_
