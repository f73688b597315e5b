// Routes that read and change overrides.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/api/call.h"

namespace sluice::http {
namespace {

using overrides::Override;
using overrides::OverrideKey;

constexpr HeaderField kRetrySoon{"Retry-After", "1"};

void answer_no_override(Call& call) {
    answer_error(
        call, 404, "This override does not exist.", std::nullopt, error_type::kOverrideNotFound);
}

OverrideKey key_of(const Call& call, const Fields& fields) {
    return {call.caller->workspace, fields.name_space, fields.identifier};
}

overrides::Author author_of(const Call& call) {
    return {.token = call.caller->token, .at = exact_wall_time().time_since_epoch().count()};
}

void count_write(const Call& call, metrics::Success success) {
    call.context.thread_metrics.override_writes[success].add();
}

void answer_failed_write(Call& call, const Error& error) {
    count_write(call, metrics::Success::kFailed);
    if (error.code == kStoreUnavailable)
        return answer_error(
            call, 503, "The store of overrides does not answer. Try again later.", kRetrySoon);
    answer_failure(call, "The override could not be stored.", error.message);
}

void answer_too_many(Call& call) {
    count_write(call, metrics::Success::kFailed);
    answer_error(call,
                 503,
                 "Too many changes of overrides wait for their store. Try again later.",
                 kRetrySoon);
}

void answer_invalid(Call& call, std::string_view location, const Error& error) {
    call.scratch.errors.add(std::string(location), error.message);
    answer_field_errors(call);
}

bool is_known(const Call& call, const overrides::NamespaceKey& key) {
    return call.context.namespaces.contains(key) || call.context.overrides.has(key);
}

void write_override(JsonWriter& json, const Override& entry) {
    json.raw(R"({"overrideId":)").text(entry.id);
    json.raw(R"(,"identifier":)").text(entry.identifier);
    json.raw(R"(,"limit":)").number(entry.value.limit);
    json.raw(R"(,"duration":)").number(entry.value.duration.count());
    json.raw("}");
}

void write_pagination(JsonWriter& json, const std::optional<std::string>& cursor) {
    json.raw(R"("pagination":{"hasMore":)").boolean(cursor.has_value());
    if (cursor) json.raw(R"(,"cursor":)").text(*cursor);
    json.raw("}");
}

void write_limit(JsonWriter& json,
                 std::string_view name,
                 const std::optional<overrides::LimitAndDuration>& value) {
    if (!value) return;
    json.raw(name).raw(R"({"limit":)").number(value->limit);
    json.raw(R"(,"duration":)").number(value->duration.count()).raw("}");
}

void write_change(JsonWriter& json, const overrides::Change& change) {
    json.raw(R"({"at":)").number(change.author.at);
    json.raw(R"(,"token":)").text(change.author.token);
    json.raw(R"(,"action":)").text(change.after ? "set" : "delete");
    json.raw(R"(,"namespace":)").text(change.name_space);
    json.raw(R"(,"identifier":)").text(change.identifier);
    json.raw(R"(,"overrideId":)").text(change.id);
    write_limit(json, R"(,"before":)", change.before);
    write_limit(json, R"(,"after":)", change.after);
    json.raw("}");
}

// A page of changes; `page.back()`, where there are more than `most`, belongs to the next one.
void answer_changes(Call& call,
                    const Result<std::vector<overrides::Change>>& changes,
                    std::size_t most) {
    if (!changes && changes.error().code == kStoreUnavailable) {
        return answer_error(
            call, 503, "The store of overrides does not answer. Try again later.", kRetrySoon);
    }
    if (!changes)
        return answer_failure(call, "The changes could not be read.", changes.error().message);
    const std::size_t listed = std::min(most, changes->size());
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    json.raw(R"({"changes":[)");
    for (std::size_t i = 0; i < listed; ++i) {
        json.raw(i == 0 ? "" : ",");
        write_change(json, (*changes)[i]);
    }
    json.raw("],");
    std::optional<std::string> cursor;
    if (changes->size() > listed) cursor = "c" + std::to_string((*changes)[listed - 1].order);
    write_pagination(json, cursor);
    json.raw("}}");
}

// A cursor is a `c` and the order of the last change on the page before.
std::optional<std::uint64_t> order_of(std::string_view cursor) {
    if (cursor.empty()) return 0;
    std::uint64_t order = 0;
    const char* const end = cursor.data() + cursor.size();
    const auto [stopped, error] = std::from_chars(cursor.data() + 1, end, order);
    const bool is_valid = cursor[0] == 'c' && error == std::errc{} && stopped == end && order > 0;
    return is_valid ? std::optional(order) : std::nullopt;
}

// The changes of all namespaces are for a token that covers all.
bool check_log_scope(Call& call, std::string_view name_space) {
    if (!name_space.empty()) return check_namespace(call, name_space);
    const auto& patterns = call.caller->namespace_patterns;
    if (std::ranges::find(patterns, "*") != patterns.end()) return true;
    answer_error(call, 403, "The token does not cover all namespaces: name one.");
    return false;
}

void answer_set(Call& call, const Result<std::string>& id) {
    if (!id && id.error().code == kInvalidRequest) return answer_invalid(call, "body", id.error());
    if (!id) return answer_failed_write(call, id.error());
    count_write(call, metrics::Success::kOk);
    begin_answer(call, 200);
    open_data(call).raw(R"({"overrideId":)").text(*id).raw("}}");
}

void answer_removed(Call& call, const Result<bool>& removed) {
    if (!removed) return answer_failed_write(call, removed.error());
    if (!*removed) return answer_no_override(call);
    count_write(call, metrics::Success::kOk);
    begin_answer(call, 200);
    open_data(call).raw("{}}");
}

// Returns a callback that has `answer` answer the call with the result of a change.
template <class T>
auto answering(const std::shared_ptr<DeferredCall>& deferred,
               void (*answer)(Call&, const Result<T>&)) {
    return [deferred, answer](Result<T> outcome) {
        DeferredCall::answer(deferred, [answer, outcome = std::move(outcome)](Call& resumed) {
            answer(resumed, outcome);
        });
    };
}

}  // namespace

// Setting and deleting are answered when the store has committed the change.
void answer_set_override(Call& call) {
    Fields fields;
    if (!read_fields(call, kSetOverrideSchema, fields)) return;
    const OverrideKey key = key_of(call, fields);
    call.context.namespaces.add(key.namespace_key());
    const overrides::LimitAndDuration value{.limit = fields.limit,
                                            .duration = std::chrono::milliseconds{fields.duration}};
    const auto deferred = DeferredCall::take(call, metrics::Route::kSetOverride);
    if (!call.context.override_changes.set(
            key, value, author_of(call), answering(deferred, answer_set)))
        DeferredCall::answer(deferred, answer_too_many);
}

void answer_get_override(Call& call) {
    Fields fields;
    if (!read_fields(call, kNameSchema, fields)) return;
    const auto entry = call.context.overrides.get(key_of(call, fields));
    if (!entry) return answer_no_override(call);
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    write_override(json, *entry);
    json.raw("}");
}

void answer_list_overrides(Call& call) {
    Fields fields;
    if (!read_fields(call, kPageSchema, fields)) return;
    const overrides::NamespaceKey key{call.caller->workspace, fields.name_space};
    const auto page = call.context.overrides.list(
        key, {.cursor = fields.cursor, .limit = static_cast<std::size_t>(fields.page_size)});
    if (!page) return answer_invalid(call, "body.cursor", page.error());
    if (!is_known(call, key)) {
        return answer_error(call,
                            404,
                            "This namespace does not exist.",
                            std::nullopt,
                            error_type::kNamespaceNotFound);
    }
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    std::string_view separator = "[";
    for (const Override& entry : page->overrides) {
        json.raw(separator);
        separator = ",";
        write_override(json, entry);
    }
    json.raw(page->overrides.empty() ? "[]," : "],");
    write_pagination(json, page->cursor);
    json.raw("}");
}

void answer_override_log(Call& call) {
    Fields fields;
    FieldErrors& errors = call.scratch.errors;
    call.scratch.reader.read_object(call.request.body, kLogSchema, fields, errors);
    const auto before = order_of(fields.cursor);
    if (errors.empty() && !before)
        errors.add("body.cursor", "is none that an earlier page carried");
    if (!errors.empty()) return answer_field_errors(call);
    if (!check_log_scope(call, fields.name_space)) return;
    const auto most = static_cast<std::size_t>(fields.page_size);
    const overrides::ChangeQuery query{.workspace = call.caller->workspace,
                                       .name_space = std::string(fields.name_space),
                                       .before = *before,
                                       .most = most + 1};
    const auto deferred = DeferredCall::take(call, metrics::Route::kOverrideLog);
    const auto done = [deferred, most](Result<std::vector<overrides::Change>> changes) {
        DeferredCall::answer(deferred, [most, changes = std::move(changes)](Call& resumed) {
            answer_changes(resumed, changes, most);
        });
    };
    if (!call.context.override_changes.read_changes(query, done))
        DeferredCall::answer(deferred, answer_too_many);
}

void answer_delete_override(Call& call) {
    Fields fields;
    if (!read_fields(call, kNameSchema, fields)) return;
    const OverrideKey key = key_of(call, fields);
    const auto deferred = DeferredCall::take(call, metrics::Route::kDeleteOverride);
    if (!call.context.override_changes.remove(
            key, author_of(call), answering(deferred, answer_removed)))
        DeferredCall::answer(deferred, answer_too_many);
}

}  // namespace sluice::http
