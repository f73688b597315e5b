// The parts of a URL that say where a server is and who comes.
#ifndef SLUICE_BASE_URL_PARTS_H_
#define SLUICE_BASE_URL_PARTS_H_

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// `text` with each %XX as the byte that it stands for; none where a % stands for nothing.
std::optional<std::string> percent_decoded(std::string_view text);

bool is_host_name(std::string_view text);
bool is_ipv6(const std::string& text);

}  // namespace sluice

#endif  // SLUICE_BASE_URL_PARTS_H_
