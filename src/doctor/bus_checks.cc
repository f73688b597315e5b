// Checks of the bus.
#include <memory>
#include <string>
#include <variant>

#include "doctor/store_checks.h"
#include "global/announcement_codec.h"
#include "global/bus_inbox.h"
#include "global/nats/nats_connection.h"
#include "url/nats_url.h"

namespace sluice::doctor {

void check_bus(const config::Settings& settings, Findings& findings) {
    const auto url = parse_nats_url(settings.bus);
    if (!url) return findings.fault("nats", url.error().message, "correct `bus`");
    const config::BusTlsSettings& tls = settings.bus_tls;
    const NatsAccess access{.url = *url,
                            .tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
                            .credentials = settings.bus_credentials,
                            .region = settings.region,
                            .subjects = {"sluice.v1.*"},
                            .greeting = encode_greeting(settings.region),
                            .greeting_subject = "sluice.v1.00"};
    if (const auto error = unusable_files(access))
        return findings.fault("nats", error->message, "correct bus_credentials and bus_tls.*");
    for (const HostPort& server : url->servers) {
        const auto inbox = std::make_shared<BusInbox>(settings.region, Bus::Receivers{});
        const auto opened = NatsConnection::open(access, server, inbox);
        inbox->close();
        if (const auto* const why = std::get_if<std::string>(&opened)) {
            findings.fault("nats",
                           *why,
                           "start NATS, or correct `bus`; the login must be allowed to publish and "
                           "to subscribe to sluice.v1.*");
        } else {
            findings.ok("nats",
                        server.host + ":" + std::to_string(server.port) +
                            " takes publishes and subscriptions");
        }
    }
}

}  // namespace sluice::doctor
