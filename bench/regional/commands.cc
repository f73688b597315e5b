#include <cstdio>
#include <string>
#include <vector>

#include "regional/origin.h"
#include "regional/redis/origin_commands.h"
#include "regional/redis/redis_keys.h"
#include "regional/redis/redis_scripts.h"
#include "regional/subject.h"
#include "regional/trials.h"

namespace sluice::bench {
namespace {

// As long as the one that a limiter gives itself.
constexpr std::string_view kNode = "0123456789abcdef";

// What redis-benchmark replaces by twelve digits: just as long as the identifier of a Key.
constexpr std::string_view kAnyIdentifier = "__rand_int__";
static_assert(kAnyIdentifier.size() == Key::kIdentifierSize);

// Its control characters are those of line ends.
std::string json_text(std::string_view bytes) {
    std::string text = "\"";
    for (const char byte : bytes) {
        if (byte == '\r') {
            text += "\\r";
        } else if (byte == '\n') {
            text += "\\n";
        } else {
            if (byte == '"' || byte == '\\') text += '\\';
            text += byte;
        }
    }
    return text + "\"";
}

}  // namespace

int print_commands() {
    const Sequence sequence = wall_time().time_since_epoch() / kWindow;
    const KeyComponents components{.current = {.workspace = std::string(kWorkspace),
                                               .name_space = std::string(kNamespace),
                                               .identifier = std::string(kAnyIdentifier),
                                               .duration = kWindow,
                                               .sequence = sequence},
                                   .incarnation = 0,
                                   .own = {1, 0},
                                   .lifetime = 2 * kWindow};
    const CellKeys keys = cell_keys(kRegion, components.current);
    const std::string load = redis_command({"SCRIPT", "LOAD", sync_script().text});
    const std::string raise =
        sync_command(std::string(kNode), std::vector<KeyedComponents>{{keys, &components}});
    const std::string read = redis_command({"HMGET", keys[0], kTotalField, kNode});
    std::printf("{\"load\": %s, \"raise\": %s, \"read\": %s, \"batch_cells\": %zu}\n",
                json_text(load).c_str(),
                json_text(raise).c_str(),
                json_text(read).c_str(),
                kKeysPerCall);
    return 0;
}

}  // namespace sluice::bench
