#include "http/api/node_json.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::http {
namespace {

using insight::NodeState;
using insight::TrafficReport;

std::int64_t milliseconds_of(UnixTime time) {
    return time.time_since_epoch().count();
}

std::int64_t number_of(std::uint64_t count) {
    return static_cast<std::int64_t>(count);
}

std::string_view name_of(NodeState state) {
    switch (state) {
        case NodeState::kStarting:
            return "starting";
        case NodeState::kReady:
            return "ready";
        case NodeState::kDraining:
            return "draining";
    }
    return "";
}

void write_age(JsonWriter& json,
               std::string_view name,
               const std::optional<std::chrono::milliseconds>& age) {
    if (age) json.raw(name).number(age->count());
}

void write_numbers(JsonWriter& json, std::string_view name, const TrafficReport::Numbers& numbers) {
    json.raw(name).raw("[");
    for (std::size_t i = 0; i < numbers.size(); ++i)
        json.raw(i == 0 ? "" : ",").number(numbers[i]);
    json.raw("]");
}

void write_origin(JsonWriter& json, const OriginStats& origin) {
    json.raw(R"(,"origin":{"attached":)").boolean(origin.attached);
    json.raw(R"(,"unavailable":)").boolean(origin.unavailable);
    json.raw(R"(,"nodes":)").number(origin.nodes);
    json.raw(R"(,"oldestUnsynced":)").number(origin.oldest_unsynced.count());
    json.raw(R"(,"clockOffset":)").number(origin.clock_offset.count()).raw("}");
}

void write_global(JsonWriter& json, const GlobalStats& global) {
    json.raw(R"(,"global":{"attached":)").boolean(global.attached);
    json.raw(R"(,"unavailable":)").boolean(global.unavailable);
    json.raw(R"(,"publishUnavailable":)").boolean(global.publish_unavailable);
    json.raw(R"(,"importUnavailable":)").boolean(global.import_unavailable);
    json.raw(R"(,"publishBreakerOpen":)").boolean(global.publish_breaker_open);
    json.raw(R"(,"importBreakerOpen":)").boolean(global.import_breaker_open);
    json.raw(R"(,"regions":)").number(number_of(global.regions));
    json.raw(R"(,"publishLag":)").number(global.publish_lag.count());
    write_age(json, R"(,"publishAge":)", global.since_publish);
    write_age(json, R"(,"importAge":)", global.since_import);
    json.raw("}");
}

void write_key(JsonWriter& json, const insight::TopKey& key) {
    json.raw(R"({"namespace":)").text(key.text->name_space);
    json.raw(R"(,"identifier":)").text(key.text->identifier);
    json.raw(R"(,"denials":)").number(number_of(key.denials));
    json.raw(R"(,"denialsError":)").number(number_of(key.denials_error));
    json.raw(R"(,"spend":)").number(number_of(key.spend));
    json.raw(R"(,"spendError":)").number(number_of(key.spend_error));
    json.raw(R"(,"limit":)").number(key.limit);
    json.raw(R"(,"duration":)").number(key.duration.count());
    if (key.last_denied != UnixTime{})
        json.raw(R"(,"lastDenied":)").number(milliseconds_of(key.last_denied));
    if (key.text->is_cut()) json.raw(R"(,"cut":true,"id":)").number(number_of(key.text->cut_id));
    json.raw("}");
}

struct NodeContext {
    bool is_self;
    std::uint64_t newest;  // version of the overrides
};

void write_node(JsonWriter& json, const insight::ReceivedReport& node, const NodeContext& context) {
    const insight::NodeReport& report = *node.report;
    json.raw(R"({"node":)").text(node.node);
    json.raw(R"(,"self":)").boolean(context.is_self);
    json.raw(R"(,"age":)").number(node.age.count());
    json.raw(R"(,"version":)").text(report.version);
    json.raw(R"(,"listen":)").text(report.listen);
    json.raw(R"(,"startedAt":)").number(milliseconds_of(report.started_at));
    json.raw(R"(,"state":)").text(name_of(report.state));
    json.raw(R"(,"degraded":[)");
    std::string_view separator;
    for (const auto& [name, is_unavailable] : {std::pair(R"("origin")", report.origin_unavailable),
                                               std::pair(R"("global")", report.global_unavailable),
                                               std::pair(R"("bus")", report.bus_unavailable)}) {
        if (is_unavailable) json.raw(std::exchange(separator, ",")).raw(name);
    }
    json.raw(R"(],"keysHeld":)").number(number_of(report.keys_held));
    json.raw(R"(,"overridesVersion":)").number(number_of(report.overrides_version));
    json.raw(R"(,"overridesLagging":)").boolean(report.overrides_version < context.newest);
    json.raw("}");
}

}  // namespace

insight::IsVisible visible_to(const Caller& caller) {
    const bool covers_all =
        std::ranges::find(caller.namespace_patterns, "*") != caller.namespace_patterns.end();
    return [&caller, covers_all](const insight::ShownNamespace& shown) {
        return shown.workspace == caller.workspace &&
               (covers_all || (!shown.is_cut && caller.may_use(shown.name)));
    };
}

std::string_view name_of(insight::Ranking ranking) {
    return ranking == insight::Ranking::kDenials ? "denials" : "spend";
}

void write_status(JsonWriter& json, const insight::NodeStatus& status, UnixTime now) {
    json.raw(R"({"now":)").number(milliseconds_of(now));
    json.raw(R"(,"version":)").text(status.version);
    json.raw(R"(,"node":)").text(status.node);
    json.raw(R"(,"region":)").text(insight::shown_text(status.region));
    json.raw(R"(,"state":)").text(name_of(status.state));
    json.raw(R"(,"startedAt":)").number(milliseconds_of(status.started_at));
    json.raw(R"(,"uptime":)").number((now - status.started_at).count());
    json.raw(R"(,"listen":)").text(status.listen);
    json.raw(R"(,"adminListen":)").text(status.admin_listen);
    json.raw(R"(,"grpcListen":)").text(status.grpc_listen);
    json.raw(R"(,"keysHeld":)").number(number_of(status.keys_held));
    json.raw(R"(,"overridesHeld":)").number(number_of(status.overrides_held));
    json.raw(R"(,"overridesFailing":)").boolean(status.overrides_failing);
    json.raw(R"(,"connections":)").number(number_of(status.connections));
    write_origin(json, status.origin);
    write_global(json, status.global);
    json.raw(R"(,"bus":{"attached":)").boolean(status.bus.attached);
    json.raw(R"(,"unavailable":)").boolean(status.bus.unavailable).raw("}}");
}

void write_caller(JsonWriter& json, const Caller& caller) {
    json.raw(R"({"tokensRequired":)").boolean(!caller.token.empty());
    if (!caller.token.empty()) json.raw(R"(,"token":)").text(insight::shown_text(caller.token));
    json.raw(R"(,"workspace":)").text(insight::shown_text(caller.workspace));
    json.raw(R"(,"namespaces":[)");
    std::string_view separator;
    for (const std::string& pattern : caller.namespace_patterns)
        json.raw(std::exchange(separator, ",")).text(insight::shown_text(pattern));
    json.raw(R"(],"permissions":[)");
    separator = "";
    const config::Permissions& permissions = caller.permissions;
    for (const auto& [name, is_granted] :
         {std::pair(R"("limit")", permissions.limit),
          std::pair(R"("read_override")", permissions.read_override),
          std::pair(R"("set_override")", permissions.set_override),
          std::pair(R"("delete_override")", permissions.delete_override),
          std::pair(R"("read_metrics")", permissions.read_metrics),
          std::pair(R"("read_keys")", permissions.read_keys)}) {
        if (is_granted) json.raw(std::exchange(separator, ",")).raw(name);
    }
    json.raw("]}");
}

void write_fleet(JsonWriter& json,
                 const insight::Fleet& fleet,
                 std::string_view region,
                 const std::vector<KnownRegion>& regions) {
    std::uint64_t newest = 0;
    for (const insight::ReceivedReport& each : fleet.nodes)
        newest = std::max(newest, each.report->overrides_version);
    json.raw(R"({"now":)").number(milliseconds_of(fleet.now));
    json.raw(R"(,"node":)").text(fleet.nodes[0].node);
    json.raw(R"(,"region":)").text(insight::shown_text(region));
    json.raw(R"(,"partial":)").boolean(fleet.is_partial);
    json.raw(R"(,"overridesVersion":)").number(number_of(newest));
    json.raw(R"(,"nodes":[)");
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
        json.raw(i == 0 ? "" : ",");
        write_node(json, fleet.nodes[i], {.is_self = i == 0, .newest = newest});
    }
    json.raw(R"(],"regions":[)");
    for (std::size_t i = 0; i < regions.size(); ++i) {
        json.raw(i == 0 ? R"({"region":)" : R"(,{"region":)")
            .text(insight::shown_text(regions[i].region));
        json.raw(R"(,"self":)").boolean(i == 0);
        if (regions[i].age.count() >= 0) json.raw(R"(,"age":)").number(regions[i].age.count());
        json.raw("}");
    }
    json.raw("]}");
}

void write_traffic(JsonWriter& json, const TrafficReport& report, UnixTime now) {
    json.raw(R"({"now":)").number(milliseconds_of(now));
    json.raw(R"(,"from":)").number(milliseconds_of(report.from));
    json.raw(R"(,"step":)").number(report.step.count());
    write_numbers(json, R"(,"passed":)", report.passed);
    write_numbers(json, R"(,"denied":)", report.denied);
    json.raw(R"(,"namespaces":[)");
    std::string_view separator = R"({"namespace":)";
    for (const TrafficReport::Namespace& each : report.namespaces) {
        json.raw(std::exchange(separator, R"(,{"namespace":)")).text(each.name);
        write_numbers(json, R"(,"passed":)", each.passed);
        write_numbers(json, R"(,"denied":)", each.denied);
        json.raw("}");
    }
    json.raw("]");
    write_numbers(json, R"(,"latency":{"p50":)", report.p50);
    write_numbers(json, R"(,"p99":)", report.p99);
    write_numbers(json, R"(,"p999":)", report.p999);
    json.raw("}");
    write_numbers(json, R"(,"keysHeld":)", report.keys_held);
    write_numbers(json, R"(,"oldestUnsynced":)", report.oldest_unsynced);
    write_numbers(json, R"(,"importAge":)", report.import_age);
    write_numbers(json, R"(,"originUnavailable":)", report.origin_unavailable);
    write_numbers(json, R"(,"globalUnavailable":)", report.global_unavailable);
    write_numbers(json, R"(,"busUnavailable":)", report.bus_unavailable);
    write_numbers(json, R"(,"breakerOpen":)", report.breaker_open);
    json.raw("}");
}

void write_second(JsonWriter& json, const TrafficReport& report) {
    json.raw(R"({"at":)").number(milliseconds_of(report.from));
    json.raw(R"(,"passed":)").number(report.passed[0]);
    json.raw(R"(,"denied":)").number(report.denied[0]);
    json.raw(R"(,"namespaces":[)");
    std::string_view separator = R"({"namespace":)";
    for (const TrafficReport::Namespace& each : report.namespaces) {
        json.raw(std::exchange(separator, R"(,{"namespace":)")).text(each.name);
        json.raw(R"(,"passed":)").number(each.passed[0]);
        json.raw(R"(,"denied":)").number(each.denied[0]).raw("}");
    }
    json.raw(R"(],"latency":{"p50":)").number(report.p50[0]);
    json.raw(R"(,"p99":)").number(report.p99[0]);
    json.raw(R"(,"p999":)").number(report.p999[0]).raw("}}");
}

void write_top_keys(JsonWriter& json,
                    const insight::RegionTopKeys& region,
                    const insight::TopQuery& query) {
    json.raw(R"({"now":)").number(milliseconds_of(region.now));
    json.raw(R"(,"window":)").number(length_of(query.window).count());
    json.raw(R"(,"by":)").text(name_of(query.by));
    json.raw(R"(,"total":)").number(number_of(region.top.total));
    if (region.top.is_total_minimum) json.raw(R"(,"totalIsMinimum":true)");
    json.raw(R"(,"partial":)").boolean(region.is_partial);
    json.raw(R"(,"nodes":)").number(number_of(region.nodes));
    json.raw(R"(,"keys":[)");
    std::string_view separator;
    for (const insight::TopKey& key : region.top.keys) {
        json.raw(std::exchange(separator, ","));
        write_key(json, key);
    }
    json.raw("]}");
}

}  // namespace sluice::http
