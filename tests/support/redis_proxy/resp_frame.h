// The framing of Redis' protocol (RESP, version 2): where a command or a reply ends.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_PROXY_RESP_FRAME_H_
#define SLUICE_TESTS_SUPPORT_REDIS_PROXY_RESP_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::redis_test {

// The length of the command or reply that `bytes` begin with; none while some of it is missing.
std::optional<std::size_t> frame_length(std::string_view bytes);

// Takes the command or reply that `bytes` begin with out of them.
std::optional<std::string> take_frame(std::string& bytes);

// The name of a whole command, in capital letters; empty if it is no array of bulk strings.
std::string command_name(std::string_view command);

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_PROXY_RESP_FRAME_H_
