#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "http/api/decision_time.h"
#include "http/api/deferred_call.h"
#include "http/api/error_answer.h"
#include "http/api/routes.h"

namespace sluice::http {
namespace {

std::int64_t milliseconds_of(UnixTime time) {
    return time.time_since_epoch().count();
}

void write_time(JsonWriter& json, std::string_view name, const std::optional<UnixTime>& time) {
    if (time) json.raw(name).number(milliseconds_of(*time));
}

void write_origin(JsonWriter& json, const CellInspection::AtOrigin& origin) {
    json.raw(R"(,"origin":{"total":)").number(origin.total);
    json.raw(R"(,"lifetime":)").number(origin.lifetime.count());
    json.raw(R"(,"components":[)");
    for (std::size_t i = 0; i < origin.components.size(); ++i) {
        json.raw(i == 0 ? R"({"owner":)" : R"(,{"owner":)").text(origin.components[i].owner);
        json.raw(R"(,"count":)").number(origin.components[i].count).raw("}");
    }
    json.raw("]}");
}

// A store may hold names of regions that are no text.
std::string shown_region(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c < ' ' || c > '~'; }, '?');
    return name;
}

void write_regions(JsonWriter& json, std::span<const CellInspection::RegionComponent> regions) {
    json.raw(R"(,"regions":[)");
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const auto& [region, count, age] = regions[i];
        json.raw(i == 0 ? R"({"region":)" : R"(,{"region":)").text(shown_region(region));
        json.raw(R"(,"count":)").number(count).raw(R"(,"age":)").number(age.count()).raw("}");
    }
    json.raw("]");
}

void write_cell(JsonWriter& json, const CellInspection& cell) {
    json.raw(R"({"begins":)").number(milliseconds_of(cell.begins));
    json.raw(R"(,"admitted":)").number(cell.admitted);
    json.raw(R"(,"settled":)").number(cell.settled);
    json.raw(R"(,"peers":)").number(cell.peers);
    json.raw(R"(,"global":)").number(cell.global);
    if (cell.origin) write_origin(json, *cell.origin);
    if (cell.regions) write_regions(json, *cell.regions);
    json.raw("}");
}

void answer_inspection(Call& call, const Result<Inspection>& inspection, UnixTime now) {
    if (!inspection)
        return answer_failure(call, "The key could not be inspected.", inspection.error().message);
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    json.raw(R"({"now":)").number(milliseconds_of(now));
    json.raw(R"(,"held":)").boolean(inspection->held);
    if (inspection->origin.attached) {
        json.raw(R"(,"node":)").text(inspection->node);
        json.raw(R"(,"originUnavailable":)").boolean(inspection->origin.unavailable);
    }
    if (inspection->global.attached) {
        json.raw(R"(,"globalUnavailable":)").boolean(inspection->global.unavailable);
        if (const auto age = inspection->global.since_import)
            json.raw(R"(,"importAge":)").number(age->count());
    }
    write_time(json, R"(,"refreshedAt":)", inspection->refreshed_at);
    write_time(json, R"(,"strictUntil":)", inspection->strict_until);
    write_time(json, R"(,"lastUsed":)", inspection->last_used);
    json.raw(R"(,"lastLimit":)").number(inspection->last_limit);
    json.raw(R"(,"unsynced":)").boolean(inspection->unsynced);
    json.raw(R"(,"current":)");
    write_cell(json, inspection->current);
    json.raw(R"(,"previous":)");
    write_cell(json, inspection->previous);
    json.raw("}}");
}

}  // namespace

void answer_inspect(Call& call) {
    Problems& problems = call.scratch.problems;
    problems.clear();
    const UnixTime now = decision_time(call);
    Fields fields;
    call.scratch.reader.read_object(call.request.body, kKeySchema, fields, problems);
    if (!problems.empty()) return answer_problems(call);
    if (!check_namespace(call, fields.name_space)) return;

    const Request request{.workspace = call.caller->workspace,
                          .name_space = fields.name_space,
                          .identifier = fields.identifier,
                          .limit = 0,
                          .duration = std::chrono::milliseconds{fields.duration}};
    const auto late = DeferredCall::take(call, metrics::Route::kInspect);
    call.context.limiter.inspect(request, now, [late, now](Result<Inspection> inspection) {
        DeferredCall::answer(late, [now, inspection = std::move(inspection)](Call& again) {
            answer_inspection(again, inspection, now);
        });
    });
}

}  // namespace sluice::http
