// What Redis complains of, fit for people and logs.
#ifndef SLUICE_REGIONAL_REDIS_COMPLAINT_H_
#define SLUICE_REGIONAL_REDIS_COMPLAINT_H_

#include <string>
#include <string_view>

namespace sluice {

// `said` on one line of bounded length, without `secret`: Redis repeats the words of a command that
// it does not know, and a password may be among them.
std::string complaint(std::string_view said, std::string_view secret);

// Whether an error says that this server can't be the origin as it is: it has become a replica, or
// has not read its data yet. A script's error holds that of its command.
bool says_not_serving(std::string_view said);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_COMPLAINT_H_
