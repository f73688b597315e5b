// Logins, permissions and TLS of a NATS server, and what a refused member reports.
#include <string>

#include <gtest/gtest.h>

#include "nats/members.h"
#include "support/nats_credentials.h"
#include "support/nats_server.h"

namespace sluice::nats_test {
namespace {

// Whether a member that may not join reports `words`, without the secrets of its login.
void expect_refused(BusMember& member, const std::string& words) {
    EXPECT_TRUE(eventually([&] { return member.problem().find(words) != std::string::npos; }))
        << member.problem();
    EXPECT_FALSE(member.is_connected());
    EXPECT_EQ(member.problem().find("hush"), std::string::npos) << member.problem();
    EXPECT_FALSE(member.send({count_of("a", 1)}));
}

TEST(NatsLogin, TakesAUserAndAPassword) {
    NatsServer server({.config = "authorization { user: alice, password: \"hush hush\" }"});
    BusMember eu(server.url("alice:hush%20hush"), "eu");
    EXPECT_TRUE(eu.connects()) << eu.problem();
}

TEST(NatsLogin, AWrongPasswordIsReportedInTheServersWords) {
    NatsServer server({.config = "authorization { user: alice, password: right }"});
    BusMember eu(server.url("alice:hush"), "eu");
    expect_refused(eu, server.address() + ": Authorization Violation");
    BusMember anonymous(server.url(), "eu");
    expect_refused(anonymous, "Authorization Violation");
}

TEST(NatsLogin, TakesAToken) {
    NatsServer server({.config = "authorization { token: hush1 }"});
    BusMember eu(server.url("hush1"), "eu");
    EXPECT_TRUE(eu.connects()) << eu.problem();
    BusMember stranger(server.url("hush2"), "eu");
    expect_refused(stranger, "Authorization Violation");
}

TEST(NatsLogin, TakesACredentialsFile) {
    const NatsCredentials known = make_nats_credentials();
    NatsServer server({.config = known.server_config});
    NatsBusOptions options = options_for(server.url(), "eu");
    options.credentials = server.scratch().write("known.creds", known.user_file);
    BusMember eu(options);
    EXPECT_TRUE(eu.connects()) << eu.problem();
    options.credentials =
        server.scratch().write("stranger.creds", make_nats_credentials().user_file);
    BusMember stranger(options);
    expect_refused(stranger, "Authorization Violation");
    options.credentials = server.scratch().write("empty.creds", "hush");
    BusMember empty(options);
    expect_refused(empty, server.address() + ": ");
}

// A bus that works in one direction only must not look like one that works.
TEST(NatsPermissions, OfOneDirectionAloneAreAnOutage) {
    NatsServer server({.config = R"(authorization { users = [
        {user: reader, password: hush, permissions: {subscribe: ">", publish: "x"}},
        {user: writer, password: hush, permissions: {subscribe: "x", publish: ">"}},
        {user: both, password: hush, permissions: {subscribe: "sluice.v1.*", publish: "sluice.v1.*"}}
    ] })"});
    BusMember reader(server.url("reader:hush"), "eu");
    expect_refused(reader, "Permissions Violation for Publish to \"sluice.v1.00\"");
    BusMember writer(server.url("writer:hush"), "eu");
    expect_refused(writer, "Permissions Violation for Subscription to \"sluice.v1.*\"");
    BusMember both(server.url("both:hush"), "eu");
    EXPECT_TRUE(both.connects()) << both.problem();
}

NatsBusOptions with_ca(const std::string& url, const std::string& ca) {
    NatsBusOptions options = options_for(url, "eu");
    options.tls.ca = ca;
    return options;
}

TEST(NatsTlsTest, VerifiesTheServerByItsAuthorityAndItsName) {
    NatsServer server({.tls = true});
    const std::string& ca = server.certificate().cert;
    const std::string port = ":" + std::to_string(server.port());
    BusMember by_address(with_ca("tls://127.0.0.1" + port, ca));
    EXPECT_TRUE(by_address.connects()) << by_address.problem();
    BusMember by_name(with_ca("tls://localhost" + port, ca));
    EXPECT_TRUE(by_name.connects()) << by_name.problem();

    BusMember unverified(options_for("tls://127.0.0.1" + port, "eu"));
    expect_refused(unverified, "self-signed certificate");
    BusMember plain(options_for("nats://127.0.0.1" + port, "eu"));
    expect_refused(plain, "self-signed certificate");  // the library follows the server to TLS

    NatsServer misnamed({.tls = true, .tls_name = "other.example"});
    BusMember deceived(
        with_ca("tls://localhost:" + std::to_string(misnamed.port()), misnamed.certificate().cert));
    expect_refused(deceived, "hostname mismatch");
}

TEST(NatsTlsTest, ShowsACertificateWhereTheServerRequiresOne) {
    NatsServer server({.tls = true, .verify_clients = true});
    const server_test::Certificate& certificate = server.certificate();
    NatsBusOptions options = with_ca(server.url(), certificate.cert);
    BusMember stranger(options);
    EXPECT_TRUE(eventually([&] { return !stranger.problem().empty(); }));
    EXPECT_FALSE(stranger.is_connected());
    options.tls.cert = certificate.cert;
    options.tls.key = certificate.key;
    BusMember known(options);
    EXPECT_TRUE(known.connects()) << known.problem();
}

TEST(NatsTlsTest, UnusableFilesAreErrorsThatNameThem) {
    const server_test::ScratchFolder scratch;
    const std::string text = scratch.write("text.pem", "no certificate");
    const auto message_of = [](NatsBusOptions options) {
        const auto opened = NatsBus::open(std::move(options), {});
        return opened ? "none" : opened.error().message;
    };
    NatsBusOptions options = options_for("tls://127.0.0.1:1", "eu");
    options.tls.ca = text;
    EXPECT_EQ(message_of(options),
              "the CA certificate for the bus, \"" + text +
                  "\", can't be used: it must be a readable PEM file");
    options.tls = {.cert = text};
    EXPECT_TRUE(
        message_of(options).starts_with("of the client certificate for the bus and its key"))
        << message_of(options);
    options.tls = {.cert = text, .key = text};
    EXPECT_TRUE(message_of(options).starts_with("the client certificate for the bus, \"" + text))
        << message_of(options);
    options.tls = {};
    options.credentials = scratch.path("missing");
    EXPECT_TRUE(message_of(options).starts_with("the credentials file for the bus, \""))
        << message_of(options);
}

}  // namespace
}  // namespace sluice::nats_test
