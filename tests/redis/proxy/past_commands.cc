#include "redis/proxy/past_commands.h"

#include "redis/proxy/resp_frame.h"

namespace sluice::redis_test {

void SentCommands::add(const std::string& command) {
    const std::string name = command_name(command);
    if (name == "AUTH" || name == "SELECT") {
        before_ += command;
        ++before_replies_;
    }
    if (name != "EVAL" && name != "EVALSHA") return;
    scripts_.push_back({.command = command, .before = before_, .before_replies = before_replies_});
    if (scripts_.size() > kMost) scripts_.pop_front();
}

void PastCommands::add(const SentCommands& ended) {
    scripts_.insert(scripts_.end(), ended.scripts().begin(), ended.scripts().end());
    while (scripts_.size() > kMost)
        scripts_.pop_front();
}

}  // namespace sluice::redis_test
