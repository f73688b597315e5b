#include "server/serve.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

TEST(Greeting, ShowsTheAddressAndACommandToTry) {
    config::Settings settings;
    const std::string text = greeting(settings);
    EXPECT_NE(text.find("listens on http://127.0.0.1:8080 (region local)"), std::string::npos);
    EXPECT_NE(
        text.find("    curl -H 'Content-Type: application/json' -d '{\"namespace\":\"login\""),
        std::string::npos)
        << text;
    EXPECT_EQ(text.find("Bearer"), std::string::npos);
}

TEST(Greeting, DependsOnTokensTlsAndWildcardAddresses) {
    config::Settings settings;
    settings.listen = {"0.0.0.0", 8443};
    settings.tls = {"c", "k"};
    settings.tokens = {config::all_powerful_token("a", "hush")};
    const std::string text = greeting(settings);
    EXPECT_NE(text.find("curl --insecure -H \"Authorization: Bearer $SLUICE_TOKEN\" "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("'https://127.0.0.1:8443/v2/ratelimit.limit'"), std::string::npos);
    EXPECT_EQ(text.find("hush"), std::string::npos);
    EXPECT_EQ(text.find("Metrics"), std::string::npos);
    settings.admin_listen = config::Address{"127.0.0.1", 9090};
    EXPECT_NE(greeting(settings).find(
                  "The page is at https://127.0.0.1:9090/, metrics at /metrics there.\n"),
              std::string::npos);
    settings.listen = {"::", 1};
    EXPECT_EQ(url_of(settings), "https://[::1]:1");
    EXPECT_NE(greeting(settings).find("curl --globoff "), std::string::npos);
    EXPECT_EQ(greeting(settings).find("--cert"), std::string::npos);
    settings.tls.client_ca = "ca.pem";
    EXPECT_NE(greeting(settings).find("--cert CLIENT.crt --key CLIENT.key "), std::string::npos);
}

}  // namespace
}  // namespace sluice::server
