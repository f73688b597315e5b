#include <string_view>

#include "http/api/error_answer.h"
#include "http/api/routes.h"

namespace sluice::http {
namespace {

using overrides::Override;
using overrides::OverrideKey;

constexpr std::string_view kNoSuchOverride = "This override does not exist.";

OverrideKey key_of(const Call& call, const Fields& fields) {
    return {call.caller->workspace, fields.name_space, fields.identifier};
}

bool read_request(Call& call, Schema schema, Fields& fields) {
    return read_fields(call, schema, fields) && check_namespace(call, fields.name_space);
}

void count_write(const Call& call, metrics::Success success) {
    call.context.thread_metrics.override_writes[success].add();
}

// The message of a store names files of this machine, which are no business of a client's.
void answer_failed_write(Call& call) {
    count_write(call, metrics::Success::kFailed);
    answer_error(call, 500, "The override could not be stored.");
}

void answer_problem(Call& call, std::string_view location, const Error& error) {
    call.scratch.problems.add(std::string(location), error.message);
    answer_problems(call);
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

}  // namespace

// This and deleting wait for the store on the serving thread. They are rare, and the wait is that
// of one small transaction.
void answer_set_override(Call& call) {
    Fields fields;
    if (!read_request(call, kGrantSchema, fields)) return;
    const Result<std::string> id = call.context.overrides.set(
        key_of(call, fields),
        {.limit = fields.limit, .duration = std::chrono::milliseconds{fields.duration}});
    if (!id && id.error().code == kInvalidRequest) return answer_problem(call, "body", id.error());
    if (!id) return answer_failed_write(call);
    count_write(call, metrics::Success::kOk);
    begin_answer(call, 200);
    open_data(call).raw(R"({"overrideId":)").text(*id).raw("}}");
}

void answer_get_override(Call& call) {
    Fields fields;
    if (!read_request(call, kNameSchema, fields)) return;
    const auto entry = call.context.overrides.get(key_of(call, fields));
    if (!entry) return answer_error(call, 404, kNoSuchOverride);
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    write_override(json, *entry);
    json.raw("}");
}

void answer_list_overrides(Call& call) {
    Fields fields;
    if (!read_request(call, kPageSchema, fields)) return;
    const auto page = call.context.overrides.list(
        {call.caller->workspace, fields.name_space},
        {.cursor = fields.cursor, .limit = static_cast<std::size_t>(fields.page_size)});
    if (!page) return answer_problem(call, "body.cursor", page.error());
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
    if (!read_request(call, kNameSchema, fields)) return;
    const Result<bool> removed = call.context.overrides.remove(key_of(call, fields));
    if (!removed) return answer_failed_write(call);
    if (!*removed) return answer_error(call, 404, kNoSuchOverride);
    count_write(call, metrics::Success::kOk);
    begin_answer(call, 200);
    open_data(call).raw("{}}");
}

}  // namespace sluice::http
