// Errors of Redis: what they mean for us, and how they are shown to people.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ERROR_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ERROR_H_

#include <string>
#include <string_view>

namespace sluice {

// The message of an error reply without what Redis adds about the script in which it occurred, so
// that one cause has one text. It begins with the code, as in "OOM command not allowed ...".
std::string_view error_message(std::string_view reply);

// The message on one line of bounded length, without `secret`: Redis repeats the words of a command
// that it does not know, and a password may be among them.
std::string shown_error(std::string_view reply, std::string_view secret);

// Whether the server can't serve any command as it is: it loads its data, or is a replica that has
// lost its master.
bool is_not_serving(std::string_view reply);

// Whether the server refused to execute a command that writes (OOM, MISCONF, READONLY, NOPERM, an
// error in a script). False for redirections and for errors that a retry can resolve.
bool is_refused_write(std::string_view reply);

// Whether a server refuses all writes for a reason that may pass while the connection stays.
bool is_refusing_all_writes(std::string_view reply);

// Whether the server has become a replica; its master may be at the same address by now.
bool is_read_only(std::string_view reply);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ERROR_H_
