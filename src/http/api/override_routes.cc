// Routes that read and change overrides.
#include <memory>
#include <string_view>
#include <utility>

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
    json.raw(R"(,"limit":)").number(entry.grant.limit);
    json.raw(R"(,"duration":)").number(entry.grant.duration.count());
    json.raw("}");
}

void write_pagination(JsonWriter& json, const std::optional<std::string>& cursor) {
    json.raw(R"("pagination":{"hasMore":)").boolean(cursor.has_value());
    if (cursor) json.raw(R"(,"cursor":)").text(*cursor);
    json.raw("}");
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
    if (!read_fields(call, kGrantSchema, fields)) return;
    const OverrideKey key = key_of(call, fields);
    call.context.namespaces.add(key.namespace_key());
    const overrides::Grant grant{.limit = fields.limit,
                                 .duration = std::chrono::milliseconds{fields.duration}};
    const auto deferred = DeferredCall::take(call, metrics::Route::kSetOverride);
    if (!call.context.override_changes.set(key, grant, answering(deferred, answer_set)))
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

void answer_delete_override(Call& call) {
    Fields fields;
    if (!read_fields(call, kNameSchema, fields)) return;
    const OverrideKey key = key_of(call, fields);
    const auto deferred = DeferredCall::take(call, metrics::Route::kDeleteOverride);
    if (!call.context.override_changes.remove(key, answering(deferred, answer_removed)))
        DeferredCall::answer(deferred, answer_too_many);
}

}  // namespace sluice::http
