// The files of the page, on the admin listener.
#include "http/api/api_fixture.h"
#include "page/assets.h"

namespace sluice::http {
namespace {

class PageRoutes : public ApiFixture {
  protected:
    PageRoutes()
        : ApiFixture({{.name = "t",
                       .sha256 = sha256_of("t"),
                       .workspace = "w",
                       .namespaces = {"*"},
                       .permissions = config::kAllPermissions}}) {}

    Answer get(std::string_view path,
               std::vector<std::pair<std::string, std::string>> headers = {}) {
        return send(admin_,
                    {.method = "GET", .path = path, .headers = std::move(headers), .json = false});
    }

    Api admin_{context(ListenerRole::kProtectedAdmin)};
};

TEST_F(PageRoutes, AreServedWithoutATokenByTheAdminListenerOnly) {
    for (const page::Asset& asset : page::assets()) {
        if (!asset.path.starts_with('/')) continue;
        const Answer answer = get(asset.path);
        EXPECT_EQ(answer.status, 200) << asset.path;
        EXPECT_EQ(answer.body, asset.content) << asset.path;
        EXPECT_EQ(answer.field("Content-Type"), asset.content_type) << asset.path;
        EXPECT_EQ(send({.method = "GET", .path = asset.path, .json = false}).status, 404);
    }
}

TEST_F(PageRoutes, ForbidEverythingThatIsInlineOrComesFromElsewhere) {
    const Answer answer = get("/");
    const std::string policy = answer.field("Content-Security-Policy");
    for (const std::string directive : {"default-src 'none'",
                                        "script-src 'self'",
                                        "style-src 'self'",
                                        "connect-src 'self'",
                                        "base-uri 'none'",
                                        "form-action 'none'",
                                        "frame-ancestors 'none'"})
        EXPECT_NE(policy.find(directive), std::string::npos) << directive;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(answer.field("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.field("Referrer-Policy"), "no-referrer");
}

TEST_F(PageRoutes, AreCompressedWhereTheClientAcceptsIt) {
    const page::Asset& start = *page::find_asset("/");
    const Answer compressed = get("/", {{"Accept-Encoding", "br, gzip;q=0.5"}});
    EXPECT_EQ(compressed.field("Content-Encoding"), "gzip");
    EXPECT_EQ(compressed.body, start.gzip);
    for (const std::string refused : {"identity", "gzip;q=0", "*, gzip;q=0"}) {
        const Answer plain = get("/", {{"Accept-Encoding", refused}});
        EXPECT_EQ(plain.field("Content-Encoding"), "none") << refused;
        EXPECT_EQ(plain.body, start.content) << refused;
        EXPECT_NE(plain.field("ETag"), compressed.field("ETag")) << refused;
    }
    EXPECT_EQ(compressed.field("Vary"), "Accept-Encoding");
}

TEST_F(PageRoutes, AreNotSentAgainToAClientThatHasThem) {
    const std::string tag = get("/").field("ETag");
    for (const std::string& known : {tag, "\"other\", " + tag, "W/" + tag, std::string("*")}) {
        const Answer answer = get("/", {{"If-None-Match", known}});
        EXPECT_EQ(answer.status, 304) << known;
        EXPECT_EQ(answer.body, "") << known;
        EXPECT_EQ(answer.field("ETag"), tag) << known;
        EXPECT_NE(answer.field("Content-Security-Policy"), "none") << known;
    }
    EXPECT_EQ(get("/", {{"If-None-Match", "\"other\""}}).status, 200);
    EXPECT_EQ(get("/", {{"If-None-Match", tag}, {"Accept-Encoding", "gzip"}}).status, 200)
        << "the compressed form is another entity";
}

TEST_F(PageRoutes, AreReadOnly) {
    const Answer answer = send(admin_, {.method = "POST", .path = "/", .body = "{}"});
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.field("Allow"), "GET, HEAD");
    EXPECT_EQ(send(admin_, {.method = "HEAD", .path = "/", .json = false}).status, 200);
}

}  // namespace
}  // namespace sluice::http
