// A gRPC server that decides one limit per call, on one thread: `decision_server PORT`
//
// Each call is decoded, decided by a real Limiter and answered with its own remaining count, as
// Envoy's rate limit service does it; rules are left out, so that the figure is that of the
// transport and the decision.
#include <sluice/limiter.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "grpc/connection.h"
#include "http/wire/listener.h"

namespace {

using namespace sluice;

constexpr std::int64_t kLimit = 4'000'000'000;

// The domain and the entries of the first descriptor, as one identifier.
struct ParsedRequest {
    std::string_view domain;
    std::string identifier;
};

std::string_view text_of(protozero::data_view view) {
    return {view.data(), view.size()};
}

void append_entries(protozero::pbf_reader descriptor, std::string& out) {
    while (descriptor.next(1)) {
        protozero::pbf_reader entry = descriptor.get_message();
        while (entry.next()) {
            out += text_of(entry.get_view());
            out += entry.tag() == 1 ? '=' : ';';
        }
    }
}

void parse(std::string_view bytes, ParsedRequest& parsed) {
    parsed.identifier.clear();
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        if (reader.tag() == 1) {
            parsed.domain = text_of(reader.get_view());
        } else if (reader.tag() == 2) {
            append_entries(reader.get_message(), parsed.identifier);
        } else {
            reader.skip();
        }
    }
}

// overall_code, and one status with code, current_limit, limit_remaining and duration_until_reset.
void write(const Decision& decision, std::string& out) {
    const int code = decision.passed ? 1 : 2;
    protozero::pbf_writer answer(out);
    answer.add_enum(1, code);
    protozero::pbf_writer status(answer, 2);
    status.add_enum(1, code);
    {
        protozero::pbf_writer limit(status, 2);
        limit.add_uint32(1, static_cast<std::uint32_t>(decision.limit));
        limit.add_enum(2, 3);
    }
    status.add_uint32(3, static_cast<std::uint32_t>(decision.remaining));
    protozero::pbf_writer reset(status, 4);
    reset.add_int64(1, 60);
}

class Service {
  public:
    explicit Service(Limiter limiter) : limiter_(std::move(limiter)) {}

    void answer(grpc::UnaryCall& call) {
        parse(call.request().message, parsed_);
        const auto decision = limiter_.limit({.name_space = parsed_.domain,
                                              .identifier = parsed_.identifier,
                                              .limit = kLimit,
                                              .duration = std::chrono::hours{1}});
        if (!decision) {
            call.answer().status = {grpc::Code::kUnknown, decision.error().message};
            return;
        }
        write(*decision, call.answer().bytes);
    }

  private:
    Limiter limiter_;
    ParsedRequest parsed_;
};

int serve(std::uint16_t port) {
    auto limiter = Limiter::create({});
    if (!limiter) return 1;
    Service service(*std::move(limiter));
    grpc::MethodRegistry methods;
    methods.add("envoy.service.ratelimit.v3.RateLimitService",
                "ShouldRateLimit",
                grpc::UnaryHandler([&](grpc::UnaryCall& call) { service.answer(call); }));
    grpc::SessionContext context{.methods = methods};
    boost::asio::io_context loop(1);
    http::Listener listener(
        loop, std::make_unique<grpc::GrpcProtocol>(context, grpc::ConnectionAge{}, 1), {});
    const auto bound = listener.listen({.host = "127.0.0.1", .port = port});
    if (!bound) {
        std::fprintf(stderr, "%s\n", bound.error().message.c_str());
        return 1;
    }
    loop.run();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: decision_server PORT\n");
        return 2;
    }
    return serve(static_cast<std::uint16_t>(std::atoi(argv[1])));
}
