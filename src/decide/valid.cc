#include "decide/valid.h"

#include <algorithm>
#include <string>

#include "counter/limit_key.h"

namespace sluice {
namespace {

struct Field {
    std::string name;
    std::string value;
    std::string allowed;
};

Error complaint(const std::string& where, const Field& field) {
    return {kInvalidRequest,
            where + field.name + " is " + field.value + "; allowed: " + field.allowed};
}

Field part_field(const char* name, std::string_view part) {
    return {.name = name,
            .value = part.empty() ? "empty" : std::to_string(part.size()) + " bytes long",
            .allowed = "1 to " + std::to_string(kMaxPartCharacters) + " characters, at most " +
                       std::to_string(kMaxPartBytes) + " bytes"};
}

Field count_field(const char* name, std::int64_t value) {
    return {.name = name,
            .value = std::to_string(value),
            .allowed = "0 to " + std::to_string(kMaxCount)};
}

Field wrong_field(const Request& request) {
    if (!is_valid_part(request.workspace)) return part_field("workspace", request.workspace);
    if (!is_valid_part(request.name_space)) return part_field("name_space", request.name_space);
    if (!is_valid_part(request.identifier)) return part_field("identifier", request.identifier);
    if (!is_valid_count(request.limit)) return count_field("limit", request.limit);
    if (!is_valid_count(request.cost)) return count_field("cost", request.cost);
    return {.name = "duration",
            .value = std::to_string(request.duration.count()) + " ms",
            .allowed = std::to_string(kMinDuration.count()) + " to " +
                       std::to_string(kMaxDuration.count()) + " ms"};
}

}  // namespace

bool is_valid_part(std::string_view part) {
    if (part.empty() || part.size() > kMaxPartBytes) return false;
    const auto begins_character = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    };
    return std::ranges::count_if(part, begins_character) <=
           static_cast<std::ptrdiff_t>(kMaxPartCharacters);
}

Error invalid_request(const Request& request) {
    return complaint("", wrong_field(request));
}

Error invalid_batch(std::span<const Request> requests) {
    if (requests.empty() || requests.size() > kMaxBatch) {
        return complaint("",
                         {.name = "the batch",
                          .value = std::to_string(requests.size()) + " requests long",
                          .allowed = "1 to " + std::to_string(kMaxBatch)});
    }
    const auto wrong = std::ranges::find_if_not(requests, is_valid);
    const auto index = static_cast<std::size_t>(wrong - requests.begin());
    return complaint("requests[" + std::to_string(index) + "]: ", wrong_field(*wrong));
}

Error invalid_time(UnixTime now) {
    return complaint("", count_field("now", now.time_since_epoch().count()));
}

}  // namespace sluice
