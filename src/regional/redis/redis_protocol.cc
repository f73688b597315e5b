#include "regional/redis/redis_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include <hiredis/hiredis.h>

namespace sluice {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// The longest line with a number: its sign, 20 digits and the line end.
constexpr std::size_t kNumberLine = 24;

using Digits = std::array<char, kNumberLine>;

std::string_view print(Digits& digits, std::uint64_t number) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

// The largest reply is the listing of a cell, or the map of a cluster: far below these.
constexpr std::size_t kMostElements = 1 << 20;
constexpr std::size_t kMostBytes = 64 << 20;
// Arrays in arrays, which are destroyed by recursion. hiredis 0.14 allows as many, 1.x any number.
constexpr int kMostNested = 7;

bool is_nested_too_deep(const redisReadTask* task) {
    int arrays = 1;
    for (; task->parent != nullptr && arrays <= kMostNested; task = task->parent)
        ++arrays;
    return arrays > kMostNested;
}

// hiredis builds replies through these functions. An element of an array is built in its place, so
// that all belongs to the outermost reply. Null means to hiredis that memory ran out, after which
// its reader is broken; no exception may pass through it.
RedisReply* place_of(const redisReadTask* task) {
    if (task->parent == nullptr) return new (std::nothrow) RedisReply;
    auto* const array = static_cast<RedisReply*>(task->parent->obj);
    return &array->elements[static_cast<std::size_t>(task->idx)];
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) {
    RedisReply* const reply = place_of(task);
    if (reply == nullptr) return nullptr;
    reply->type =
        task->type == REDIS_REPLY_ERROR ? RedisReply::Type::kError : RedisReply::Type::kText;
    try {
        reply->text.assign(text, size);
    } catch (const std::bad_alloc&) {
        if (task->parent == nullptr) delete reply;
        return nullptr;
    }
    return reply;
}

// `Size` is int in hiredis 0.14 and size_t in 1.x.
template <class Size>
void* make_array(const redisReadTask* task, Size size) {
    if (static_cast<std::size_t>(size) > kMostElements || is_nested_too_deep(task)) return nullptr;
    RedisReply* const reply = place_of(task);
    if (reply == nullptr) return nullptr;
    reply->type = RedisReply::Type::kArray;
    try {
        reply->elements.resize(static_cast<std::size_t>(size));
    } catch (const std::bad_alloc&) {
        if (task->parent == nullptr) delete reply;
        return nullptr;
    }
    return reply;
}

void* make_integer(const redisReadTask* task, long long integer) {
    RedisReply* const reply = place_of(task);
    if (reply == nullptr) return nullptr;
    reply->type = RedisReply::Type::kInteger;
    reply->integer = integer;
    return reply;
}

void* make_nil(const redisReadTask* task) {
    return place_of(task);
}

// Called with outermost replies only.
void free_reply(void* reply) {
    delete static_cast<RedisReply*>(reply);
}

// By name, since hiredis 1.x has more members than 0.14. Those are for the types of RESP3, which is
// not asked for: a server that sends them breaks the reader.
template <class Functions>
Functions functions() {
    Functions made{};
    made.createString = make_text;
    made.createArray = make_array;
    made.createInteger = make_integer;
    made.createNil = make_nil;
    made.freeObject = free_reply;
    if constexpr (requires { made.createDouble; })
        made.createDouble = [](const redisReadTask*, double, char*, std::size_t) -> void* {
            return nullptr;
        };
    if constexpr (requires { made.createBool; })
        made.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
    return made;
}

redisReplyObjectFunctions makers = functions<redisReplyObjectFunctions>();

constexpr std::size_t kMaxShown = 200;

bool has_code(std::string_view reply, std::initializer_list<std::string_view> codes) {
    const std::string_view message = error_message(reply);
    const std::string_view code = message.substr(0, message.find(' '));
    return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

// hiredis can format commands too, but prints each length with printf, which is measurably slower.
CommandWriter::CommandWriter(std::size_t words, std::size_t bytes) {
    bytes_.reserve(kNumberLine + words * (kNumberLine + kLineEnd.size()) + bytes);
    add_length('*', words);
}

CommandWriter& CommandWriter::add(std::string_view word) {
    add_length('$', word.size());
    bytes_ += word;
    bytes_ += kLineEnd;
    return *this;
}

CommandWriter& CommandWriter::add(std::uint64_t number) {
    Digits digits;
    return add(print(digits, number));
}

void CommandWriter::add_length(char sign, std::size_t length) {
    Digits digits;
    bytes_ += sign;
    bytes_ += print(digits, length);
    bytes_ += kLineEnd;
}

std::string redis_command(std::initializer_list<std::string_view> words) {
    std::size_t bytes = 0;
    for (const std::string_view word : words)
        bytes += word.size();
    CommandWriter writer(words.size(), bytes);
    for (const std::string_view word : words)
        writer.add(word);
    return writer.take();
}

bool RedisReply::is_error(std::string_view word) const {
    return is_error() && text.starts_with(word) &&
           (text.size() == word.size() || text[word.size()] == ' ');
}

void ReplyReader::Free::operator()(redisReader* reader) const {
    redisReaderFree(reader);
}

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&makers)) {
    if (!reader_) throw std::bad_alloc();
}

void ReplyReader::feed(std::span<const char> bytes) {
    if (reader_->len - reader_->pos + bytes.size() > kMostBytes) is_broken_ = true;
    if (is_broken_) return;
    is_broken_ = redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK;
}

std::optional<RedisReply> ReplyReader::next() {
    if (is_broken_) return std::nullopt;
    void* made = nullptr;
    is_broken_ = redisReaderGetReply(reader_.get(), &made) != REDIS_OK;
    const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(made));
    if (is_broken_ || !reply) return std::nullopt;
    return std::move(*reply);
}

// Redis 7: "OOM command not allowed ... script: 5f1c..., on @user_script:9."
// Redis 6: "ERR Error running script (call to f_5f1c...): @user_script:9: @user_script: 9: -OOM
// ..."
std::string_view error_message(std::string_view reply) {
    constexpr std::string_view kRunning = "ERR Error running script";
    constexpr std::string_view kMessage = ": -";
    if (reply.starts_with(kRunning)) {
        const std::size_t at = reply.find(kMessage);
        if (at != std::string_view::npos) reply.remove_prefix(at + kMessage.size());
    }
    return reply.substr(0, reply.find(" script: "));
}

std::string shown_error(std::string_view reply, std::string_view secret) {
    // Redis quotes the arguments of a command that it does not know behind these words.
    const std::string_view message = error_message(reply);
    std::string text(message.substr(0, message.find(", with args")));
    if (!secret.empty()) {
        for (std::size_t at = text.find(secret); at != std::string::npos;
             at = text.find(secret, at + 3))
            text.replace(at, secret.size(), "***");
    }
    if (text.size() > kMaxShown) text.resize(kMaxShown);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

bool is_not_serving(std::string_view reply) {
    return has_code(reply, {"LOADING", "MASTERDOWN"});
}

bool is_refused_write(std::string_view reply) {
    return !is_not_serving(reply) &&
           !has_code(reply, {"MOVED", "ASK", "TRYAGAIN", "NOSCRIPT", "CLUSTERDOWN", "LATE"});
}

bool is_key_error(std::string_view reply) {
    return has_code(reply, {"WRONGTYPE", "NOTACELL"});
}

bool is_refusing_all_writes(std::string_view reply) {
    return has_code(reply, {"OOM", "MISCONF", "READONLY", "NOREPLICAS"});
}

bool is_read_only(std::string_view reply) {
    return has_code(reply, {"READONLY"});
}

}  // namespace sluice
