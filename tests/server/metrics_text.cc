#include "server/metrics_text.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

namespace sluice::server_test {

double sum_of(std::string_view text, std::string_view name, std::string_view label) {
    std::optional<double> sum;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name)) continue;
        const char next = line.size() > name.size() ? line[name.size()] : ' ';
        if (next != ' ' && next != '{') continue;
        if (line.find(label) == std::string::npos) continue;
        sum = sum.value_or(0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    return sum.value_or(-1);
}

}  // namespace sluice::server_test
