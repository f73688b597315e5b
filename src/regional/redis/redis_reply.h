// What Redis answers, read from bytes.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_REPLY_H_
#define SLUICE_REGIONAL_REDIS_REDIS_REPLY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace sluice {

struct RedisReply {
    enum class Type { kNil, kText, kError, kInteger, kArray };

    Type type = Type::kNil;
    std::string text;  // of a text or an error
    std::int64_t integer = 0;
    std::vector<RedisReply> elements;  // of an array

    bool is_error() const { return type == Type::kError; }
    // Whether it is an error whose first word is `word`.
    bool is_error(std::string_view word) const;
    bool is_array(std::size_t size) const {
        return type == Type::kArray && elements.size() == size;
    }
};

// Makes replies of the bytes that arrive, however they are cut. Bytes that are no replies, or
// announce more than any of ours holds, break it for good.
//
// Thread-compatible.
class ReplyReader {
  public:
    ReplyReader();

    void feed(std::span<const char> bytes);
    // The next whole reply; none if there is none yet, or if it is broken.
    std::optional<RedisReply> next();
    bool is_broken() const { return is_broken_; }

  private:
    struct Free {
        void operator()(redisReader* reader) const;
    };

    std::unique_ptr<redisReader, Free> reader_;
    bool is_broken_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_REPLY_H_
