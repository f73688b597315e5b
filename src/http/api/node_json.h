// The JSON of the calls that observe a node.
#ifndef SLUICE_HTTP_API_NODE_JSON_H_
#define SLUICE_HTTP_API_NODE_JSON_H_

#include "http/api/json.h"
#include "http/api/token_set.h"
#include "insight/observer.h"

namespace sluice::http {

// Namespaces of the caller's workspace that its token covers. One whose name is shown cut is
// visible to tokens that cover all. `caller` must outlive it.
insight::IsVisible visible_to(const Caller& caller);

// Each writes one object.
void write_status(JsonWriter& json, const insight::NodeStatus& status, UnixTime now);
void write_caller(JsonWriter& json, const Caller& caller);
void write_traffic(JsonWriter& json, const insight::TrafficReport& report, UnixTime now);
// The same for a single second.
void write_second(JsonWriter& json, const insight::TrafficReport& report);
void write_top_keys(JsonWriter& json,
                    const insight::RegionTopKeys& region,
                    const insight::TopQuery& query);

void write_fleet(JsonWriter& json,
                 const insight::Fleet& fleet,
                 std::string_view region,
                 const std::vector<KnownRegion>& regions);

// "denials" or "spend".
std::string_view name_of(insight::Ranking ranking);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_NODE_JSON_H_
