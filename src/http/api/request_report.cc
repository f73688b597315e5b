#include "http/api/request_report.h"

#include <algorithm>

namespace sluice::http {
namespace {

constexpr std::size_t kMaxBytes = 600;

// Whether `name` stands in a list with commas.
bool is_in(std::string_view list, std::string_view name) {
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        if (list.substr(at, comma - at) == name) return true;
        at = comma + 1;
    }
    return false;
}

}  // namespace

void ReportNotes::note_namespace(std::string_view name) {
    if (name_space.empty()) {
        name_space = name.substr(0, kMaxBytes);
        return;
    }
    if (name_space.size() + 1 + name.size() > kMaxBytes || is_in(name_space, name)) return;
    name_space += ',';
    name_space += name;
}

}  // namespace sluice::http
