#include "regional/redis/redis_reply.h"

#include <new>
#include <utility>

#include <hiredis/hiredis.h>

namespace sluice {
namespace {

// The largest reply is the listing of a cell, or the map of a cluster: far below these.
constexpr int kMostElements = 1 << 20;
constexpr std::size_t kMostBytes = 64 << 20;

// hiredis builds replies through these functions. An element of an array is built in its place, so
// that all belongs to the outermost reply. Null tells hiredis that memory ran out, after which its
// reader is broken; no exception may pass through it.
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

void* make_array(const redisReadTask* task, int size) {
    if (size > kMostElements) return nullptr;
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

redisReplyObjectFunctions makers = {make_text, make_array, make_integer, make_nil, free_reply};

}  // namespace

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

}  // namespace sluice
