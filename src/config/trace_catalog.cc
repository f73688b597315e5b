// The settings of traces: a part of the catalog.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "config/assign.h"
#include "config/catalog.h"
#include "url/collector_url.h"

namespace sluice::config {
namespace {

constexpr std::size_t kLongestUrl = 4096;

const std::array kTraceCatalog = {
    Setting{"trace.endpoint",
            "URL",
            "Collector that gets spans of decisions that waited, as OTLP/HTTP in JSON; without it "
            "none are sent",
            "http://HOST[:PORT][/PATH], on port 4318 and with the path /v1/traces if none is given",
            [](Settings& s, const Value& v) {
                auto text = as_string(v);
                return text && text->size() <= kLongestUrl && parse_collector_url(*text) &&
                       assign(s.trace.endpoint, std::move(text));
            },
            [](const Settings& s) { return quoted(s.trace.endpoint); },
            "http://127.0.0.1:4318"},
    Setting{"trace.one_in",
            "N",
            "Send a span of one in N decisions that waited; a request with a traceparent is traced "
            "if that says so",
            "a whole number from 1 to 1000000000",
            [](Settings& s, const Value& v) {
                return assign_count(s.trace.one_in, v, 1, 1'000'000'000);
            },
            [](const Settings& s) { return std::to_string(s.trace.one_in); }},
    Setting{"trace.identifiers",
            "",
            "Name workspace, namespace and identifier in spans",
            "true or false",
            [](Settings& s, const Value& v) { return assign(s.trace.identifiers, as_bool(v)); },
            [](const Settings& s) { return show_bool(s.trace.identifiers); }},
};

}  // namespace

std::span<const Setting> trace_catalog() {
    return kTraceCatalog;
}

}  // namespace sluice::config
