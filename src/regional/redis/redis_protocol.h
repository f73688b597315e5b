// The Redis protocol (RESP, version 2): commands to bytes, bytes to replies, and the meaning of
// error replies.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_PROTOCOL_H_
#define SLUICE_REGIONAL_REDIS_REDIS_PROTOCOL_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct redisReader;

namespace sluice {

// Builds the bytes of one command. Its words may hold any byte. Thread-compatible.
class CommandWriter {
  public:
    // Exactly `words` words must be added; `bytes` is about how long they are in all.
    CommandWriter(std::size_t words, std::size_t bytes);

    CommandWriter& add(std::string_view word);
    CommandWriter& add(std::uint64_t number);
    std::string take() { return std::move(bytes_); }

  private:
    void add_length(char sign, std::size_t length);

    std::string bytes_;
};

// Builds the bytes of a short command.
std::string redis_command(std::initializer_list<std::string_view> words);

struct RedisReply {
    enum class Type { kNil, kText, kError, kInteger, kArray };

    Type type = Type::kNil;
    std::string text;  // of a text or an error
    std::int64_t integer = 0;
    std::vector<RedisReply> elements;  // of an array

    bool is_error() const { return type == Type::kError; }
    // Whether it is an error with the code `word`, as in "MOVED 3999 127.0.0.1:6381".
    bool is_error(std::string_view word) const;
    bool is_array(std::size_t size) const {
        return type == Type::kArray && elements.size() == size;
    }
};

// An incremental parser of replies. Bytes that are no reply, or that announce more than any reply
// to our commands holds, break it for good.
//
// Thread-compatible.
class ReplyReader {
  public:
    ReplyReader();

    void feed(std::span<const char> bytes);
    // The next complete reply; none if there is none yet, or if the reader is broken.
    std::optional<RedisReply> next();
    bool is_broken() const { return is_broken_; }

  private:
    struct Free {
        void operator()(redisReader* reader) const;
    };

    std::unique_ptr<redisReader, Free> reader_;
    bool is_broken_ = false;
};

// The message of an error reply without what Redis adds about the script in which it occurred, so
// that one cause has one text. It begins with the code, as in "OOM command not allowed ...".
std::string_view error_message(std::string_view reply);

// The message on one line of bounded length, without `secret`: Redis repeats the words of a command
// that it does not know, and a password may be among them.
std::string shown_error(std::string_view reply, std::string_view secret);

// Whether the server can't serve any command as it is: it loads its data, or is a replica that has
// lost its master.
bool is_not_serving(std::string_view reply);

// Whether the server refused to execute a command that writes (OOM, MISCONF, READONLY, NOPERM, an
// error in a script). False for redirections and for errors that a retry can resolve.
bool is_refused_write(std::string_view reply);

// Whether the error concerns the key of the command alone: it holds something else than counts.
bool is_key_error(std::string_view reply);

// Whether a server refuses all writes for a reason that may pass while the connection stays.
bool is_refusing_all_writes(std::string_view reply);

// Whether the server has become a replica; its master may be at the same address by now.
bool is_read_only(std::string_view reply);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_PROTOCOL_H_
