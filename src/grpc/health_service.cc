#include "grpc/health_service.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {

namespace {

// HealthCheckResponse.ServingStatus
enum class Serving : std::int32_t { kUnset = 0, kServing = 1, kNotServing = 2, kUnknown = 3 };

// The name in a HealthCheckRequest; none if it is malformed.
std::optional<std::string> parse_name(std::string_view bytes) {
    std::string name;
    try {
        protozero::pbf_reader reader(bytes.data(), bytes.size());
        while (reader.next(1, protozero::pbf_wire_type::length_delimited))
            name = reader.get_string();
    } catch (const protozero::exception&) {
        return std::nullopt;
    }
    return name;
}

std::string encode(Serving state) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_enum(1, static_cast<std::int32_t>(state));
    return bytes;
}

Status malformed() {
    return {Code::kInvalidArgument, "The request is no HealthCheckRequest."};
}

}  // namespace

class HealthService::Watch final : public StreamHandler {
  public:
    Watch(HealthService& service, StreamWriter& writer) : service_(service), writer_(writer) {
        service_.watches_.insert(this);
    }
    ~Watch() override { service_.watches_.erase(this); }

    void on_message(std::string_view message) override {
        const auto name = parse_name(message);
        if (!name || is_known_) return writer_.finish(malformed());
        is_known_ = service_.has(*name);
        publish();
    }

    void on_end() override {
        if (!is_known_) writer_.finish(malformed());
    }

    void publish() {
        if (!is_known_) return;
        Serving state = Serving::kUnknown;
        if (*is_known_) state = service_.is_serving_() ? Serving::kServing : Serving::kNotServing;
        if (std::exchange(sent_, state) != state) writer_.send(encode(state));
    }

  private:
    HealthService& service_;
    StreamWriter& writer_;
    std::optional<bool> is_known_;  // the service; none until the request has arrived
    Serving sent_ = Serving::kUnset;
};

HealthService::HealthService(std::vector<std::string> names, std::function<bool()> is_serving)
    : names_(std::move(names)), is_serving_(std::move(is_serving)) {}

void HealthService::add_to(MethodRegistry& methods) {
    constexpr std::string_view kService = "grpc.health.v1.Health";
    methods.add(kService, "Check", UnaryHandler([this](UnaryCall& call) { check(call); }));
    methods.add(kService, "Watch", StreamOpener([this](StreamWriter& writer) {
                    return std::make_unique<Watch>(*this, writer);
                }));
}

void HealthService::publish() {
    for (Watch* watch : watches_)
        watch->publish();
}

void HealthService::check(UnaryCall& call) const {
    const auto name = parse_name(call.request().message);
    if (!name) {
        call.answer().status = malformed();
    } else if (!has(*name)) {
        call.answer().status = {Code::kNotFound, "There is no service \"" + *name + "\"."};
    } else {
        call.answer().bytes = encode(is_serving_() ? Serving::kServing : Serving::kNotServing);
    }
}

bool HealthService::has(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace sluice::grpc
