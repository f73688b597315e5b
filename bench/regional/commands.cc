#include <cstdio>

#include "regional/origin.h"
#include "regional/redis/cell_key.h"
#include "regional/redis/raise_script.h"
#include "regional/redis/redis_command.h"
#include "regional/replay.h"
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
    const std::string key = cell_key(kRegion,
                                     {.workspace = std::string(kWorkspace),
                                      .name_space = std::string(kNamespace),
                                      .identifier = std::string(kAnyIdentifier),
                                      .duration = kWindow,
                                      .sequence = sequence});
    const std::string lifetime = std::to_string(kWindow.count());
    const std::string raise =
        raise_command({.key = key, .owner = kNode, .own = "1", .lifetime = lifetime});
    const std::string read = redis_command({"HMGET", key, kTotalField, kNode});
    std::printf("{\"load\": %s, \"raise\": %s, \"read\": %s, \"batch_cells\": %zu}\n",
                json_text(load_raise_command()).c_str(),
                json_text(raise).c_str(),
                json_text(read).c_str(),
                Replay::kBatchCells);
    return 0;
}

}  // namespace sluice::bench
