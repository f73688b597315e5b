// Routes that report state: probes, metrics, and the inspection of one key.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "http/api/call.h"
#include "service/inspect.h"

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

// Replaces bytes that are not printable ASCII: a store may hold any bytes as a region's name.
std::string shown_region(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c < ' ' || c > '~'; }, '?');
    return name;
}

using Source = CellInspection::RegionComponent::Source;

void write_regions(JsonWriter& json, std::span<const CellInspection::RegionComponent> regions) {
    json.raw(R"(,"regions":[)");
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const CellInspection::RegionComponent& each = regions[i];
        json.raw(i == 0 ? R"({"region":)" : R"(,{"region":)").text(shown_region(each.region));
        json.raw(R"(,"count":)").number(each.count);
        json.raw(R"(,"age":)").number(each.age.count());
        json.raw(R"(,"known":)").number(each.known);
        if (each.source != Source::kNone) {
            json.raw(R"(,"knownAge":)").number(each.known_age.count());
            json.raw(each.source == Source::kBus ? R"(,"source":"bus")" : R"(,"source":"store")");
        }
        json.raw("}");
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

// The parts of an inspection's request that its answer depends on.
struct InspectedKey {
    UnixTime now;
    std::chrono::milliseconds duration;
    std::optional<std::int64_t> limit;  // as asked
    std::int64_t cost;
    std::optional<overrides::Override> override;  // that applies
};

// Writes the override, and what the key's counts mean for a request. The limit is that of the
// request, else that of the override if the counts are those of its duration, else the last one.
void write_verdict(JsonWriter& json, const InspectedKey& key, const Inspection& inspection) {
    std::optional<std::int64_t> limit = key.limit;
    if (key.override) {
        json.raw(R"(,"override":)");
        write_override(json, *key.override);
        if (!limit && key.override->grant.duration == key.duration)
            limit = key.override->grant.limit;
    }
    if (!limit && inspection.held) limit = inspection.last_limit;
    if (!limit) return;
    const Request request{.name_space = {},
                          .identifier = {},
                          .limit = *limit,
                          .duration = key.duration,
                          .cost = key.cost};
    const Decision decision = decision_on(inspection, request, key.now);
    json.raw(R"(,"verdict":{"limit":)").number(*limit);
    json.raw(R"(,"cost":)").number(key.cost);
    json.raw(R"(,"passes":)").boolean(decision.passed);
    json.raw(R"(,"remaining":)").number(decision.remaining);
    write_time(json, R"(,"retryAt":)", decision.retry_at);
    json.raw("}");
}

void answer_inspection(Call& call, const Result<Inspection>& inspection, const InspectedKey& key) {
    if (!inspection)
        return answer_failure(call, "The key could not be inspected.", inspection.error().message);
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    json.raw(R"({"now":)").number(milliseconds_of(key.now));
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
    write_verdict(json, key, *inspection);
    json.raw("}}");
}

}  // namespace

void answer_inspect(Call& call) {
    const UnixTime now = decision_time(call);
    Fields fields;
    fields.limit = -1;
    if (!read_fields(call, kInspectSchema, fields)) return;

    const Request request{.workspace = call.caller->workspace,
                          .name_space = fields.name_space,
                          .identifier = fields.identifier,
                          .limit = 0,
                          .duration = std::chrono::milliseconds{fields.duration}};
    InspectedKey key{
        .now = now, .duration = request.duration, .limit = {}, .cost = fields.cost, .override = {}};
    if (fields.limit >= 0) key.limit = fields.limit;
    if (call.caller->permissions.read_override) {
        const auto* const found = call.overrides.get().match(
            {call.caller->workspace, fields.name_space, fields.identifier});
        if (found != nullptr) key.override = *found;
    }
    const auto deferred = DeferredCall::take(call, metrics::Route::kInspect);
    call.context.limiter.inspect(
        request, now, [deferred, key = std::move(key)](Result<Inspection> inspection) {
            DeferredCall::answer(deferred,
                                 [key, inspection = std::move(inspection)](Call& resumed) {
                                     answer_inspection(resumed, inspection, key);
                                 });
        });
}

// Liveness: the process runs and this thread answers.
void answer_health(Call& call) {
    begin_answer(call, 200);
    open_data(call).raw(R"({"status":"live"}})");
}

// The same in the format of Unkey's API.
void answer_liveness(Call& call) {
    begin_answer(call, 200);
    open_data(call).raw(R"({"message":"we're cooking"}})");
}

// Readiness: whether a load balancer should send requests here. A node whose shared stores are
// unavailable is still ready, since it decides from local counts: `degraded` names those stores.
void answer_ready(Call& call) {
    switch (call.context.readiness.load(std::memory_order_relaxed)) {
        case Readiness::kStarting:
            return answer_error(call, 503, "The server is starting.");
        case Readiness::kDraining:
            return answer_error(call, 503, "The server is draining.");
        case Readiness::kReady:
            break;
    }
    begin_answer(call, 200);
    const Stats stats = call.context.limiter.stats();
    JsonWriter json = open_data(call);
    json.raw(R"({"status":"ready","degraded":[)");
    bool is_first = true;
    for (const auto& [name, is_unavailable] : {std::pair(R"("origin")", stats.origin.unavailable),
                                               std::pair(R"("global")", stats.global.unavailable),
                                               std::pair(R"("bus")", stats.bus.unavailable)}) {
        if (!is_unavailable) continue;
        json.raw(std::exchange(is_first, false) ? "" : ",").raw(name);
    }
    json.raw("]}}");
}

void answer_metrics(Call& call) {
    call.reply.begin(200, metrics::kTextContentType);
    call.context.metrics.write(call.reply.body());
}

}  // namespace sluice::http
