// Routes that report state: probes, metrics, and the inspection of one key; and those of the
// rate-limit service.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "http/api/call.h"
#include "window/sliding.h"

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

// The parameters of an inspection that its answer depends on.
struct InspectParameters {
    std::chrono::milliseconds duration;
    std::optional<std::int64_t> limit;  // none: that of the override, or of the last request
    std::int64_t cost;
    std::optional<overrides::Override> applied;  // the override that applies to the key
    bool may_read_override;                      // whether the caller may know its pattern
    UnixTime now;
};

void write_override(JsonWriter& json, const overrides::Override& applied) {
    json.raw(R"(,"override":{"overrideId":)").text(applied.id);
    json.raw(R"(,"identifier":)").text(applied.identifier);
    json.raw(R"(,"limit":)").number(applied.value.limit);
    json.raw(R"(,"duration":)").number(applied.value.duration.count()).raw("}");
}

Count count_of(const CellInspection& cell) {
    return static_cast<Count>(cell.admitted) + static_cast<Count>(cell.peers) +
           static_cast<Count>(cell.global);
}

// What a request would be answered by the counts that this node knows.
void write_verdict(JsonWriter& json,
                   const Inspection& inspection,
                   const InspectParameters& parameters) {
    const std::int64_t limit = parameters.limit.value_or(
        parameters.applied ? parameters.applied->value.limit : inspection.last_limit);
    const Ask ask{.cost = static_cast<Count>(parameters.cost), .limit = static_cast<Count>(limit)};
    const Instant at = instant_at(parameters.now, parameters.duration);
    const Spent spent{.current = count_of(inspection.current),
                      .previous = count_of(inspection.previous)};
    const Verdict verdict = weigh(spent, at.elapsed, parameters.duration, ask);
    json.raw(R"(,"verdict":{"limit":)").number(limit);
    json.raw(R"(,"cost":)").number(parameters.cost);
    json.raw(R"(,"passed":)").boolean(verdict.passed);
    json.raw(R"(,"remaining":)").number(static_cast<std::int64_t>(verdict.remaining));
    if (!verdict.passed) {
        write_time(json,
                   R"(,"retryAt":)",
                   first_pass({spent.previous, spent.current, 0, 0}, at, parameters.duration, ask));
    }
    json.raw("}");
}

void answer_inspection(Call& call,
                       const Result<Inspection>& inspection,
                       const InspectParameters& parameters) {
    const UnixTime now = parameters.now;
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
    if (parameters.applied && parameters.may_read_override)
        write_override(json, *parameters.applied);
    if (parameters.limit || parameters.applied || inspection->held)
        write_verdict(json, *inspection, parameters);
    json.raw("}}");
}

}  // namespace

void answer_inspect(Call& call) {
    const UnixTime now = decision_time(call);
    Fields fields;
    fields.limit = -1;  // not given
    if (!read_fields(call, kInspectSchema, fields)) return;

    const Request request{.workspace = call.caller->workspace,
                          .name_space = fields.name_space,
                          .identifier = fields.identifier,
                          .limit = 0,
                          .duration = std::chrono::milliseconds{fields.duration}};
    InspectParameters parameters{.duration = request.duration,
                                 .limit = std::nullopt,
                                 .cost = fields.cost,
                                 .applied = std::nullopt,
                                 .may_read_override = call.caller->permissions.read_override,
                                 .now = now};
    if (fields.limit >= 0) parameters.limit = fields.limit;
    const overrides::Override* const applied =
        call.overrides.get().match({call.caller->workspace, fields.name_space, fields.identifier});
    if (applied != nullptr) parameters.applied = *applied;
    const auto deferred = DeferredCall::take(call, metrics::Route::kInspect);
    call.context.limiter.inspect(
        request, now, [deferred, parameters](Result<Inspection> inspection) {
            DeferredCall::answer(deferred,
                                 [parameters, inspection = std::move(inspection)](Call& resumed) {
                                     answer_inspection(resumed, inspection, parameters);
                                 });
        });
}

namespace {

void answer_no_service(Call& call) {
    answer_error(call, 404, "The server has no rate-limit service: the setting rules is empty.");
}

}  // namespace

void answer_rate_limit(Call& call) {
    const auto& decide = call.context.rate_limits.decide;
    return decide ? decide(call) : answer_no_service(call);
}

// The state that the gRPC health service reports, as envoyproxy/ratelimit answers over HTTP.
void answer_healthcheck(Call& call) {
    const auto& is_healthy = call.context.rate_limits.is_healthy;
    if (!is_healthy) return answer_no_service(call);
    const bool healthy = is_healthy();
    call.reply.begin(healthy ? 200 : 500, "text/plain; charset=utf-8");
    if (healthy) call.reply.body() = "OK";
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
