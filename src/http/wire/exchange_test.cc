#include "http/wire/exchange.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kSomeday{1'700'000'000s};

std::string written(const Reply& reply, ReplyFraming framing = {}) {
    ReplyWriter writer;
    writer.set_time(kSomeday);
    std::string out;
    writer.write(reply, framing, out);
    return out;
}

TEST(ReplyWriter, AddsDateAndContentLength) {
    Reply reply;
    reply.begin(429, "application/json");
    reply.header("Retry-After", "3");
    reply.body() += "{}";
    EXPECT_EQ(written(reply),
              "HTTP/1.1 429 Too Many Requests\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
              "Content-Type: application/json\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(ReplyWriter, AddsTheConnectionField) {
    Reply reply;
    reply.begin(200, "");
    EXPECT_EQ(written(reply).find("Connection"), std::string::npos);
    EXPECT_NE(written(reply, {.after = AfterReply::kClose}).find("\r\nConnection: close\r\n"),
              std::string::npos);
    EXPECT_NE(written(reply, {.minor_version = 0}).find("\r\nConnection: keep-alive\r\n"),
              std::string::npos);
}

TEST(ReplyWriter, OmitsBodiesThatAreNotAllowed) {
    Reply reply;
    reply.begin(200, "text/plain");
    reply.body() = "hello";
    EXPECT_TRUE(written(reply, {.head_only = true}).ends_with("Content-Length: 5\r\n\r\n"));
    reply.begin(204, "");
    reply.body() = "hello";
    EXPECT_EQ(written(reply),
              "HTTP/1.1 204 No Content\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\n");
}

TEST(ReplyWriter, AppendsAndUpdatesTheDate) {
    ReplyWriter writer;
    std::string out = "before ";
    Reply reply;
    reply.begin(200, "");
    writer.write(reply, {}, out);
    EXPECT_TRUE(
        out.starts_with("before HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"));
    out.clear();
    writer.set_time(kSomeday + 1s);
    writer.write(reply, {}, out);
    EXPECT_NE(out.find("22:13:21"), std::string::npos);
}

TEST(Reply, StartsOver) {
    Reply reply;
    reply.begin(200, "text/plain");
    reply.header("X", "y");
    reply.body() = "hello";
    reply.begin(404, "");
    EXPECT_EQ(written(reply),
              "HTTP/1.1 404 Not Found\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Length: "
              "0\r\n\r\n");
}

TEST(Reply, ReplacesLineEndsInFields) {
    Reply reply;
    reply.begin(200, "a\r\nX: y");
    reply.header("N\n", "v\r\n\r\nbody");
    EXPECT_EQ(reply.fields(), "Content-Type: a  X: y\r\nN : v    body\r\n");
}

}  // namespace
}  // namespace sluice::http
