#include "http/api/event_streams.h"

#include <algorithm>
#include <utility>

#include "http/api/node_json.h"

namespace sluice::http {
namespace {

const Caller* caller_of(const std::optional<Sha256>& token, const TokenSet& tokens) {
    const Caller* const caller = tokens.is_open() ? &tokens.anonymous()
                                 : token          ? tokens.find(*token)
                                                  : nullptr;
    return caller != nullptr && caller->permissions.read_metrics ? caller : nullptr;
}

}  // namespace

EventStreams::Open EventStreams::count(const std::optional<Sha256>& token) {
    std::erase_if(streams_, [](const Stream& stream) { return !stream.reply.is_open(); });
    Open open{.all = streams_.size()};
    if (token) {
        open.with_token =
            static_cast<std::size_t>(std::ranges::count(streams_, token, &Stream::token));
    }
    return open;
}

// A client that loses the connection makes a new one a second later.
void EventStreams::open(Reply& reply, Completion completion, const std::optional<Sha256>& token) {
    reply.begin(200, "text/event-stream");
    reply.header("Cache-Control", "no-store");
    reply.body() = "retry: 1000\n\n";
    streams_.push_back({ReplyStream(std::move(completion)), token});
}

void EventStreams::send(const insight::Observer& observer, const TokenSet& tokens) {
    events_.clear();
    // An exception leaves the streams as they are.
    for (Stream& stream : streams_) {
        const Caller* const caller = caller_of(stream.token, tokens);
        stream.has_ended = caller == nullptr || !stream.reply.send(event_for(observer, *caller));
    }
    std::erase_if(streams_, [](const Stream& stream) { return stream.has_ended; });
}

const std::string& EventStreams::event_for(const insight::Observer& observer,
                                           const Caller& caller) {
    const auto held = std::ranges::find(events_, &caller, &Event::caller);
    if (held != events_.end()) return held->text;
    std::string text;
    write_event(text, observer, caller);
    return events_.emplace_back(Event{&caller, std::move(text)}).text;
}

void write_event(std::string& text, const insight::Observer& observer, const Caller& caller) {
    const insight::IsVisible is_visible = visible_to(caller);
    const UnixTime now = observer.now();
    text += "event: second\ndata: ";
    JsonWriter json(text);
    json.raw(R"({"now":)").number(now.time_since_epoch().count());
    json.raw(R"(,"traffic":)");
    write_second(json, observer.traffic({.seconds = 1}, is_visible));
    json.raw(R"(,"status":)");
    write_status(json, observer.status(), now);
    if (caller.permissions.read_keys) {
        const insight::TopQuery query{.most = EventStreams::kTopKeys, .is_visible = is_visible};
        json.raw(R"(,"topKeys":)");
        write_top_keys(json, observer.top_keys(query), query);
    }
    json.raw("}\n\n");
}

}  // namespace sluice::http
