// What was sent on connections that have ended.
#ifndef SLUICE_TESTS_REDIS_PROXY_PAST_COMMANDS_H_
#define SLUICE_TESTS_REDIS_PROXY_PAST_COMMANDS_H_

#include <cstddef>
#include <deque>
#include <string>

namespace sluice::redis_test {

// What one connection has sent, as far as it can come back: its scripts, and what has to go before
// them on another connection. Owned by one thread.
class SentCommands {
  public:
    struct Script {
        std::string command;
        std::string before;          // commands such as AUTH, which make a connection fit for it
        std::size_t before_replies;  // how many these are
    };

    void add(const std::string& command);

    const std::deque<Script>& scripts() const { return scripts_; }

    static constexpr std::size_t kMost = 64;

  private:
    std::string before_;
    std::size_t before_replies_ = 0;
    std::deque<Script> scripts_;  // the last ones, kMost at most
};

// Owned by one thread.
class PastCommands {
  public:
    void add(const SentCommands& ended);

    bool empty() const { return scripts_.empty(); }
    std::size_t size() const { return scripts_.size(); }
    const SentCommands::Script& at(std::size_t index) const { return scripts_.at(index); }

    static constexpr std::size_t kMost = 512;

  private:
    std::deque<SentCommands::Script> scripts_;  // the last ones, kMost at most
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_PROXY_PAST_COMMANDS_H_
