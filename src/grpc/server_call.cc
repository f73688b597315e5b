#include "grpc/server_call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "grpc/header_values.h"
#include "grpc/server_session.h"

namespace sluice::grpc {

namespace {

// Buffers up to this size are kept for the next call.
constexpr std::size_t kBufferKept = 4096;

// Fields beyond the limit of a call, by this factor, close the connection: the client pays no heed
// to the limit that it was sent.
constexpr std::size_t kFloodFactor = 4;

// What HTTP/2 charges for a field besides its name and value.
constexpr std::size_t kFieldOverhead = 32;

// An estimate of the memory of nghttp2's stream and of this object.
constexpr std::size_t kCallBytes = 1024;

// nghttp2 does not write to the names and values that it takes.
std::uint8_t* bytes_of(std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

// A field whose text is constant.
nghttp2_nv constant_field(std::string_view name, std::string_view value) {
    return {bytes_of(name),
            bytes_of(value),
            name.size(),
            value.size(),
            NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

nghttp2_nv copied_field(std::string_view name, std::string_view value) {
    return {
        bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

std::string_view code_text(Code code) {
    static constexpr std::array<std::string_view, 17> kTexts{
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
    return kTexts[std::min<std::size_t>(static_cast<std::size_t>(code), kTexts.size() - 1)];
}

// Bytes of a status message that are sent. Some messages quote what the client has sent.
constexpr std::size_t kMessageSent = 2048;

std::string encode_message(const Status& status) {
    return percent_encode(std::string_view(status.message).substr(0, kMessageSent));
}

constexpr std::string_view kContentType = "application/grpc";

void empty(std::string& text) {
    text.clear();
    if (text.capacity() > kBufferKept) std::string().swap(text);
}

}  // namespace

void ServerCall::begin(ServerSession& session, std::int32_t stream) {
    session_ = &session;
    stream_ = stream;
    method_ = nullptr;
    messages_ = header_bytes_ = accounted_ = sent_ = 0;
    refusal_.code = Code::kOk;
    request_.deadline.reset();
    traceparent_.clear();
    answer_.status.code = Code::kOk;
    is_post_ = has_content_type_ = is_head_complete_ = is_request_complete_ = is_reset_ = false;
    is_deferred_ = is_answered_ = is_submitted_ = is_awaited_ = is_overdue_ = is_unsent_ = false;
    account();
    set_awaited(true);
}

void ServerCall::end() {
    forget_deadline();
    drop_deferral();
    set_awaited(false);
    set_flag(is_unsent_, false, session_->unsent_answers_);
    session_->held_bytes_ -= accounted_;
    is_answered_ = true;  // the handler's destructor may still use the writer
    handler_.reset();
    reader_.reset(kBufferKept);
    empty(answer_.bytes);
    empty(answer_.status.message);
    empty(refusal_.message);
    empty(outbox_);
    empty(traceparent_);
}

// Updates the session's sum of held memory.
void ServerCall::account() {
    const std::size_t held = kCallBytes + reader_.held_bytes() + allocated_bytes(answer_.bytes) +
                             allocated_bytes(answer_.status.message) + allocated_bytes(outbox_) +
                             allocated_bytes(traceparent_) + allocated_bytes(refusal_.message);
    session_->held_bytes_ += held - accounted_;
    accounted_ = held;
}

bool ServerCall::on_field(std::string_view name, std::string_view value) {
    const std::size_t limit = session_->context_.limits.header_list;
    header_bytes_ += name.size() + value.size() + kFieldOverhead;
    if (header_bytes_ > limit) {
        refusal_.code = Code::kResourceExhausted;
        refusal_.message = "The header fields are larger than " + std::to_string(limit) + " bytes.";
        return header_bytes_ <= kFloodFactor * limit;
    }
    if (is_head_complete_) return true;  // a trailer
    if (name == ":path") {
        method_ = session_->find_method(value);
        if (method_ == nullptr) {
            refusal_ = {Code::kUnimplemented, "There is no method " + std::string(value) + "."};
        }
    } else if (name == ":method") {
        is_post_ = value == "POST";
    } else if (name == "content-type") {
        has_content_type_ = is_grpc_content_type(value);
    } else if (name == "grpc-timeout") {
        if (const auto timeout = parse_timeout(value)) {
            request_.deadline = session_->now_ + *timeout;
            if (timeout->count() == 0) {
                refusal_ = {Code::kDeadlineExceeded, "The deadline is in the past."};
            }
        } else {
            refusal_ = {Code::kInternal,
                        "grpc-timeout is malformed; it is 1 to 8 digits and H, M, S, m, u or n."};
        }
    } else if (name == "traceparent") {
        traceparent_ = value;
    } else if (name == "grpc-encoding" && value != "identity") {
        refusal_ = {Code::kUnimplemented,
                    "The message encoding is not supported; only identity is."};
    }
    return true;
}

void ServerCall::on_head() {
    is_head_complete_ = true;
    account();
    // The fields behind the limit were not read.
    if (refusal_.code == Code::kResourceExhausted)
        return refuse(refusal_.code, std::move(refusal_.message));
    if (!is_post_) return refuse(Code::kUnknown, "gRPC calls use the method POST.", "405");
    if (!has_content_type_) {
        return refuse(Code::kUnknown, "The content type must be application/grpc.", "415");
    }
    if (refusal_.code != Code::kOk) return refuse(refusal_.code, std::move(refusal_.message));
    if (request_.deadline) session_->timed_.push_back(stream_);
    const auto* open = std::get_if<StreamOpener>(&method_->second);
    if (open == nullptr) return;
    session_->context_.counters.calls.add(1);
    session_->turn_.spend_call();
    set_awaited(false);
    handler_ = (*open)(*this);
}

void ServerCall::on_data(std::string_view bytes) {
    if (is_answered_) return;
    const std::size_t messages_before = messages_;
    read_messages(bytes);
    if (is_answered_) return;
    account();
    if (handler_ == nullptr) return;
    if (messages_ != messages_before) set_awaited(false);  // what is awaited now is another message
    set_awaited(reader_.is_partial());
}

void ServerCall::read_messages(std::string_view bytes) {
    using Outcome = MessageReader::Outcome;
    const std::size_t limit = session_->context_.limits.message;
    while (!bytes.empty() && !is_answered_) {
        // A unary call is handled when the client has ended the stream.
        if (handler_ == nullptr && messages_ > 0) {
            return refuse(Code::kInternal, "A unary call has one message; there are more.");
        }
        switch (reader_.read(bytes, limit)) {
            case Outcome::kNeedMore:
                return;
            case Outcome::kMessage:
                ++messages_;
                if (handler_ == nullptr) break;
                session_->turn_.spend_call();
                handler_->on_message(reader_.message());
                reader_.reset(kBufferKept);
                break;
            case Outcome::kCompressed:
                return refuse(Code::kUnimplemented,
                              "Compressed messages are not supported; only identity is.");
            case Outcome::kInvalid:
                return refuse(Code::kInternal, "The flag of a message is neither 0 nor 1.");
            case Outcome::kTooLarge:
                return refuse(Code::kResourceExhausted,
                              "The message is larger than " + std::to_string(limit) + " bytes.");
        }
    }
}

void ServerCall::on_end() {
    is_request_complete_ = true;
    set_awaited(false);
    if (is_answered_) return;
    if (reader_.is_partial()) return refuse(Code::kInternal, "The last message is incomplete.");
    if (handler_ != nullptr) return handler_->on_end();
    if (messages_ == 0)
        return refuse(Code::kInternal, "A unary call has one message; there is none.");
    dispatch();
}

void ServerCall::watch_deadline(Deadlines& deadlines) {
    deadline_ = deadlines.emplace(*request_.deadline, this);
    deadlines_ = &deadlines;
}

void ServerCall::forget_deadline() {
    if (deadlines_ != nullptr) deadlines_->erase(deadline_);
    deadlines_ = nullptr;
}

void ServerCall::expire() {
    forget_deadline();
    if (is_answered_) return;
    session_->context_.counters.expired.add(1);
    drop_deferral();
    finish({Code::kDeadlineExceeded, "The deadline has passed."});
}

void ServerCall::end_overdue() {
    is_overdue_ = true;
    set_awaited(false);
    forget_deadline();
    session_->context_.counters.expired.add(1);
    finish({Code::kDeadlineExceeded, "The request did not arrive in time."});
}

// The answer of the completion will have no effect.
void ServerCall::drop_deferral() {
    if (std::exchange(is_deferred_, false)) --session_->deferred_;
}

void ServerCall::dispatch() {
    if (request_.deadline && *request_.deadline <= session_->now_) return expire();
    session_->context_.counters.calls.add(1);
    session_->turn_.spend_call();
    request_.path = method_->first;
    request_.peer = session_->peer_;
    request_.message = reader_.message();
    request_.traceparent = traceparent_;
    (*std::get_if<UnaryHandler>(&method_->second))(*this);
    reader_.reset(kBufferKept);
    if (is_deferred_) return account();
    submit_answer();
}

void ServerCall::fail(std::string_view what) {
    const auto& report = session_->context_.on_failure;
    if (report) report(method_ == nullptr ? "" : method_->first, what);
    drop_deferral();
    finish({Code::kInternal, "The server failed to answer this call."});
}

Completion ServerCall::defer() {
    is_deferred_ = true;
    ++session_->deferred_;
    return session_->completion_for(stream_);
}

void ServerCall::complete(Answer answer) {
    drop_deferral();
    answer_ = std::move(answer);
    submit_answer();
}

void ServerCall::refuse(Code code, std::string message, std::string_view http_status) {
    session_->context_.counters.refused.add(1);
    if (is_submitted_) return finish({code, std::move(message)});
    submit_trailers_only({code, std::move(message)}, http_status);
}

void ServerCall::submit_answer() {
    if (answer_.status.code != Code::kOk) return submit_trailers_only(answer_.status, "200");
    is_answered_ = true;
    set_flag(is_unsent_, true, session_->unsent_answers_);
    account();
    submit_head();
}

// Submits the head of a response, whose body comes from produce().
void ServerCall::submit_head() {
    is_submitted_ = true;
    const std::array fields{constant_field(":status", "200"),
                            constant_field("content-type", kContentType)};
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = on_read;
    nghttp2_submit_response(session_->http2_, stream_, fields.data(), fields.size(), &body);
}

// Fails only where memory is exhausted or the stream is closing; the client gets a reset then.
void ServerCall::submit_trailers_only(const Status& status, std::string_view http_status) {
    is_answered_ = is_submitted_ = true;
    set_awaited(false);
    set_flag(is_unsent_, true, session_->unsent_answers_);
    account();
    const std::string message = encode_message(status);
    const std::array fields{constant_field(":status", http_status),
                            constant_field("content-type", kContentType),
                            constant_field("grpc-status", code_text(status.code)),
                            copied_field("grpc-message", message)};
    const std::size_t count = message.empty() ? fields.size() - 1 : fields.size();
    nghttp2_submit_response(session_->http2_, stream_, fields.data(), count, nullptr);
}

void ServerCall::submit_trailers() {
    const std::string message = encode_message(answer_.status);
    const std::array fields{constant_field("grpc-status", code_text(answer_.status.code)),
                            copied_field("grpc-message", message)};
    nghttp2_submit_trailer(session_->http2_, stream_, fields.data(), message.empty() ? 1 : 2);
}

void ServerCall::send(std::string_view message) {
    if (is_answered_) return;
    append_message(message, outbox_);
    account();
    if (outbox_.size() - sent_ > session_->context_.limits.stream_unsent) {
        return finish({Code::kResourceExhausted, "The client leaves too many messages unread."});
    }
    set_flag(is_unsent_, true, session_->unsent_answers_);
    if (is_submitted_) {
        nghttp2_session_resume_data(session_->http2_, stream_);
    } else {
        submit_head();
    }
    session_->wake();
}

void ServerCall::finish(Status status) {
    if (is_answered_) return;
    if (is_submitted_) {
        is_answered_ = true;
        set_awaited(false);
        set_flag(is_unsent_, true, session_->unsent_answers_);
        answer_.status = std::move(status);
        account();
        nghttp2_session_resume_data(session_->http2_, stream_);
    } else {
        submit_trailers_only(status, "200");
    }
    session_->wake();
}

ssize_t ServerCall::on_read(nghttp2_session* /*session*/,
                            std::int32_t /*stream*/,
                            std::uint8_t* to,
                            std::size_t size,
                            std::uint32_t* flags,
                            nghttp2_data_source* source,
                            void* /*owner*/) {
    auto* call = static_cast<ServerCall*>(source->ptr);
    char* const bytes = reinterpret_cast<char*>(to);
    return call->handler_ == nullptr ? call->produce_unary(bytes, size, *flags)
                                     : call->produce_stream(bytes, size, *flags);
}

ssize_t ServerCall::produce_unary(char* to, std::size_t size, std::uint32_t& flags) {
    std::size_t produced = 0;
    if (sent_ < kPrefixSize) {
        std::array<char, kPrefixSize> prefix;
        write_prefix(answer_.bytes.size(), prefix.data());
        produced = std::min(size, kPrefixSize - sent_);
        std::memcpy(to, prefix.data() + sent_, produced);
        sent_ += produced;
    }
    if (sent_ >= kPrefixSize) {
        const std::size_t offset = sent_ - kPrefixSize;
        const std::size_t count = std::min(size - produced, answer_.bytes.size() - offset);
        std::memcpy(to + produced, answer_.bytes.data() + offset, count);
        produced += count;
        sent_ += count;
    }
    if (sent_ == kPrefixSize + answer_.bytes.size()) end_body(flags);
    return static_cast<ssize_t>(produced);
}

ssize_t ServerCall::produce_stream(char* to, std::size_t size, std::uint32_t& flags) {
    const std::size_t count = std::min(size, outbox_.size() - sent_);
    std::memcpy(to, outbox_.data() + sent_, count);
    sent_ += count;
    if (sent_ == outbox_.size()) {
        empty(outbox_);
        sent_ = 0;
        if (is_answered_) {
            end_body(flags);
        } else {
            set_flag(is_unsent_, false, session_->unsent_answers_);
        }
        account();
    } else if (sent_ > outbox_.size() / 2) {
        // A client that is always a little behind never empties it. Moves less than was sent.
        outbox_.erase(0, sent_);
        sent_ = 0;
        account();
    }
    if (count == 0 && !is_answered_) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(count);
}

void ServerCall::end_body(std::uint32_t& flags) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    submit_trailers();
}

// The session's list has the calls in the order in which they began to be awaited.
void ServerCall::set_awaited(bool value) {
    if (is_awaited_ == value) return;
    is_awaited_ = value;
    if (value) {
        awaited_since_ = session_->now_;
        awaited_before_ = std::exchange(session_->last_awaited_, this);
        awaited_after_ = nullptr;
        (awaited_before_ == nullptr ? session_->first_awaited_ : awaited_before_->awaited_after_) =
            this;
    } else {
        (awaited_before_ == nullptr ? session_->first_awaited_ : awaited_before_->awaited_after_) =
            awaited_after_;
        (awaited_after_ == nullptr ? session_->last_awaited_ : awaited_after_->awaited_before_) =
            awaited_before_;
    }
}

// Sets a flag that `count` counts over all calls of the session.
void ServerCall::set_flag(bool& flag, bool value, std::size_t& count) {
    if (flag == value) return;
    flag = value;
    value ? ++count : --count;
}

}  // namespace sluice::grpc
