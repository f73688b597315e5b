#include "http/wire/request_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "http/wire/reader_exercise.h"

namespace sluice::http {
namespace {

using Outcome = RequestReader::Outcome;

const WireLimits kLimits;

// Reads `bytes` at once, and checks that reading them in pieces gives the same result.
ReaderLog read_all(std::string_view bytes, const WireLimits& limits = kLimits) {
    const ReaderLog at_once = log_reading(bytes, bytes.size(), limits);
    EXPECT_EQ(at_once, log_reading(bytes, 1, limits)) << bytes.substr(0, 200);
    EXPECT_EQ(at_once, log_reading(bytes, 7, limits)) << bytes.substr(0, 200);
    return at_once;
}

int error_of(std::string_view bytes) {
    return read_all(bytes).error;
}

// A request with the given fields after Host.
std::string with_fields(std::string_view fields) {
    return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

TEST(RequestReader, ReadsRequestsOfTheNpmClients) {
    const std::string bytes =
        "POST /v2/ratelimit.limit HTTP/1.1\r\nhost: 127.0.0.1:1\r\nconnection: keep-alive\r\n"
        "Content-Type: application/json\r\ncookie: \r\nx-empty:\r\naccept-language: *\r\n"
        "content-length: 2\r\n\r\n{}";
    std::string copy = bytes;
    std::span<char> input(copy);
    RequestReader reader(kLimits);
    RequestView request;
    ASSERT_EQ(reader.read(input, request), Outcome::kRequest);
    EXPECT_EQ(reader.used(), bytes.size());
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v2/ratelimit.limit");
    EXPECT_EQ(request.body, "{}");
    EXPECT_EQ(request.header("CONTENT-type"), "application/json");
    EXPECT_TRUE(request.has_header("cookie"));
    EXPECT_EQ(request.header("cookie"), "");
    EXPECT_TRUE(request.has_header("X-Empty"));
    EXPECT_FALSE(request.has_header("x-none"));
    EXPECT_EQ(request.headers().size(), 7U);
    EXPECT_TRUE(reader.keep_alive());
}

TEST(RequestReader, YieldsPipelinedRequestsOneByOne) {
    const std::string one = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n";
    const std::string two = with_fields("Content-Length: 3\r\n") + "abc";
    const std::string three = with_fields("Transfer-Encoding: chunked\r\n") + "1\r\nx\r\n0\r\n\r\n";
    const ReaderLog log = read_all(one + two + three + one + "GET");
    EXPECT_EQ(log.error, 0);
    EXPECT_EQ(
        log.requests,
        (std::vector<std::string>{"GET /a?b=c ", "POST /p? abc", "POST /p? x", "GET /a?b=c "}));
}

TEST(RequestReader, AcceptsEveryFormOfTarget) {
    const auto read = [](std::string_view target, std::string_view method = "GET") {
        return read_all(std::string(method) + " " + std::string(target) +
                        " HTTP/1.1\r\nHost: h\r\n\r\n");
    };
    EXPECT_EQ(read("/").requests.at(0), "GET /? ");
    EXPECT_EQ(read("/a?b?c").requests.at(0), "GET /a?b?c ");
    EXPECT_EQ(read("http://h:1/a?b").requests.at(0), "GET /a?b ");
    EXPECT_EQ(read("HTTP://h").requests.at(0), "GET /? ");
    EXPECT_EQ(read("https://h?q").requests.at(0), "GET /?q ");
    EXPECT_EQ(read("*", "OPTIONS").requests.at(0), "OPTIONS *? ");
    EXPECT_EQ(read("h:1", "CONNECT").requests.at(0), "CONNECT h:1? ");
    EXPECT_EQ(read("a").error, 400);
    EXPECT_EQ(read("/a#b").error, 400);
}

TEST(RequestReader, DerivesKeepAliveFromVersionAndConnectionField) {
    const auto keeps = [](std::string_view version, std::string_view connection) {
        std::string bytes = "GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n";
        if (!connection.empty()) bytes += "Connection: " + std::string(connection) + "\r\n";
        bytes += "\r\n";
        std::span<char> input(bytes);
        RequestReader reader(kLimits);
        RequestView request;
        EXPECT_EQ(reader.read(input, request), Outcome::kRequest);
        return reader.keep_alive();
    };
    EXPECT_TRUE(keeps("1.1", ""));
    EXPECT_FALSE(keeps("1.1", "Close"));
    EXPECT_FALSE(keeps("1.1", "x, close"));
    EXPECT_FALSE(keeps("1.0", ""));
    EXPECT_TRUE(keeps("1.0", "keep-alive"));
}

TEST(RequestReader, RefusesTwoLengths) {
    EXPECT_EQ(error_of(with_fields("Content-Length: 1\r\nContent-Length: 2\r\n") + "ab"), 400);
    EXPECT_EQ(error_of(with_fields("Content-Length: 1\r\nContent-Length: 1\r\n") + "a"), 400);
    EXPECT_EQ(error_of(with_fields("Content-Length: 1, 1\r\n") + "a"), 400);
    EXPECT_EQ(error_of(with_fields("Content-Length: 1,\r\n") + "a"), 400);
}

TEST(RequestReader, RefusesMalformedLengths) {
    for (const std::string_view value :
         {"", "+1", "-1", "0x1", "1 1", "1.0", "1;", "18446744073709551616", "a"}) {
        EXPECT_EQ(error_of(with_fields("Content-Length: " + std::string(value) + "\r\n") + "a"),
                  400)
            << value;
    }
}

TEST(RequestReader, RefusesALengthTogetherWithACoding) {
    EXPECT_EQ(
        error_of(with_fields("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n"),
        400);
    EXPECT_EQ(
        error_of(with_fields("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n"),
        400);
}

TEST(RequestReader, RefusesUnknownCodings) {
    const auto error = [](std::string_view value) {
        return error_of(with_fields("Transfer-Encoding: " + std::string(value) + "\r\n") +
                        "0\r\n\r\n");
    };
    EXPECT_EQ(error("Chunked"), 0);
    EXPECT_EQ(error("gzip, chunked"), 501);
    EXPECT_EQ(error("chunked, gzip"), 501);
    EXPECT_EQ(error("identity"), 501);
    EXPECT_EQ(error("xchunked"), 501);
    EXPECT_EQ(error("chunked, chunked"), 400);
    EXPECT_EQ(error("chunked,"), 400);
    EXPECT_EQ(error("\"chunked\""), 400);
    EXPECT_EQ(error("chunked;q=1"), 400);
    EXPECT_EQ(error(""), 400);
    EXPECT_EQ(error_of(with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") +
                       "0\r\n\r\n"),
              400);
    EXPECT_EQ(error_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(RequestReader, RefusesBareLineEnds) {
    EXPECT_EQ(error_of("GET / HTTP/1.1\nHost: h\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\n\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\rHost: h\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\n\r\r\n"), 400);
    EXPECT_EQ(error_of("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
}

TEST(RequestReader, RefusesFoldedLines) {
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\nX:\r\n\tb\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\n Host: h\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\n \r\n\r\n"), 400);
}

TEST(RequestReader, RefusesMalformedFields) {
    for (const std::string_view line :
         {"X : y", "X\t: y", ": y", "X y: z", "X", "X(: y", "X\x80: y", "=: y"}) {
        EXPECT_EQ(error_of(with_fields(std::string(line) + "\r\n")), 400) << line;
    }
    for (const char c : {'\0', '\x01', '\x0b', '\x0c', '\x1f', '\x7f'}) {
        EXPECT_EQ(error_of(with_fields(std::string("X: a") + c + "b\r\n")), 400) << int{c};
        EXPECT_EQ(error_of(with_fields(std::string("X") + c + ": b\r\n")), 400) << int{c};
        EXPECT_EQ(error_of(std::string("GET /") + c + " HTTP/1.1\r\nHost: h\r\n\r\n"), 400)
            << int{c};
    }
    EXPECT_EQ(error_of(with_fields("X: tab\tand \xc3\xa9 are fine \t \r\n")), 0);
}

TEST(RequestReader, RefusesMalformedRequestLines) {
    for (const std::string_view line : {"GET  / HTTP/1.1",
                                        "GET /  HTTP/1.1",
                                        "GET / HTTP/1.1 ",
                                        " GET / HTTP/1.1",
                                        "GET\t/ HTTP/1.1",
                                        "GET / http/1.1",
                                        "GET / HTTP/1",
                                        "GET / HTTP/11",
                                        "GET /",
                                        "GET",
                                        "G(T / HTTP/1.1",
                                        "GET / x HTTP/1.1",
                                        "\x16\x03\x01"}) {
        EXPECT_EQ(error_of(std::string(line) + "\r\nHost: h\r\n\r\n"), 400) << line;
    }
}

TEST(RequestReader, AnswersOtherVersionsWith505) {
    for (const std::string_view version : {"2.0", "1.2", "0.9", "3.0"}) {
        EXPECT_EQ(error_of("GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n\r\n"), 505)
            << version;
    }
    EXPECT_EQ(error_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestReader, RequiresExactlyOneHost) {
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(error_of("GET / HTTP/1.0\r\n\r\n"), 0);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 0);
}

TEST(RequestReader, SkipsOneEmptyLineBeforeARequest) {
    EXPECT_EQ(read_all("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").requests.size(), 1U);
    EXPECT_EQ(error_of("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
    EXPECT_EQ(error_of("\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
}

TEST(RequestReader, BoundsTheHead) {
    const std::string start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    const auto with_size = [&](std::size_t size) {
        return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
    };
    EXPECT_EQ(error_of(with_size(kLimits.header)), 0);
    EXPECT_EQ(error_of(with_size(kLimits.header + 1)), 431);
    EXPECT_EQ(error_of("GET /" + std::string(kLimits.header, 'x')), 431);
    std::string many;
    for (int i = 0; i < 99; ++i)
        many += "a:\r\n";
    EXPECT_EQ(error_of(with_fields(many)), 0);
    EXPECT_EQ(error_of(with_fields(many + "a:\r\n")), 431);
}

TEST(RequestReader, BoundsTheBody) {
    const WireLimits small{.header = 100, .body = 10};
    const auto error = [&](std::string_view bytes) { return read_all(bytes, small).error; };
    EXPECT_EQ(error(with_fields("Content-Length: 10\r\n") + "0123456789"), 0);
    EXPECT_EQ(error(with_fields("Content-Length: 11\r\n")), 413);
    EXPECT_EQ(error(with_fields("Content-Length: 99999999999999\r\n")), 413);
    const std::string chunked = with_fields("Transfer-Encoding: chunked\r\n");
    EXPECT_EQ(error(chunked + "a\r\n0123456789\r\n0\r\n\r\n"), 0);
    EXPECT_EQ(error(chunked + "b\r\n"), 413);
    EXPECT_EQ(error(chunked + "6\r\n012345\r\n5\r\n"), 413);
    EXPECT_EQ(error(chunked + "ffffffffffffffffffff\r\n"), 413);
    EXPECT_EQ(error(chunked + std::string(200, '0')), 400);
    EXPECT_EQ(error(chunked + "1;" + std::string(200, 'x')), 431);
    EXPECT_EQ(error(chunked + "0\r\nx:" + std::string(200, 'x')), 431);
}

TEST(RequestReader, DecodesChunksInPlace) {
    const std::string chunked = with_fields("Transfer-Encoding: chunked\r\n");
    const auto body = [&](std::string_view chunks) {
        return read_all(chunked + std::string(chunks)).requests.at(0);
    };
    EXPECT_EQ(body("0\r\n\r\n"), "POST /p? ");
    EXPECT_EQ(body("3\r\nabc\r\n0\r\n\r\n"), "POST /p? abc");
    EXPECT_EQ(body("1\r\na\r\n0002\r\nbc\r\n00\r\n\r\n"), "POST /p? abc");
    EXPECT_EQ(body("A;x=\"y z\";w\r\n0123456789\r\n0;e\r\nTrailer: v\r\nT:\r\n\r\n"),
              "POST /p? 0123456789");
    EXPECT_EQ(body("4\r\n\r\n\r\n\r\n0\r\n\r\n"), "POST /p? \r\n\r\n");
}

TEST(RequestReader, RefusesMalformedChunks) {
    const std::string chunked = with_fields("Transfer-Encoding: chunked\r\n");
    for (const std::string_view chunks : {"\r\n",
                                          ";\r\n",
                                          " 1\r\na\r\n",
                                          "1 \r\na\r\n",
                                          "1 ;x\r\na\r\n",
                                          "0x1\r\na\r\n",
                                          "-1\r\na\r\n",
                                          "+1\r\na\r\n",
                                          "g\r\n",
                                          "1\na\r\n",
                                          "1\r\na\n",
                                          "1\r\nab\r\n",
                                          "1\r\na\r\r\n",
                                          "1;a\nb\r\na\r\n",
                                          "1;\"a\nb\"\r\na\r\n",
                                          "0\r\n X: y\r\n\r\n",
                                          "0\r\nX : y\r\n\r\n",
                                          "0\r\nX\r\n\r\n",
                                          "0\r\nX: y\n\r\n",
                                          "0\r\nX: \x01\r\n\r\n",
                                          "0\r\n\n"}) {
        EXPECT_EQ(error_of(chunked + std::string(chunks)), 400) << chunks;
    }
}

TEST(RequestReader, ReportsAnExpectationOnce) {
    std::string bytes = with_fields("Expect: 100-Continue\r\nContent-Length: 2\r\n");
    RequestReader reader(kLimits);
    RequestView request;
    std::span<char> input(bytes);
    ASSERT_EQ(reader.read(input, request), Outcome::kNeedMore);
    EXPECT_EQ(reader.part(), RequestReader::Part::kBody);
    EXPECT_TRUE(reader.take_continue());
    EXPECT_FALSE(reader.take_continue());
    bytes += "ab";
    input = bytes;
    ASSERT_EQ(reader.read(input, request), Outcome::kRequest);
    EXPECT_EQ(request.body, "ab");
    EXPECT_EQ(request.path, "/p");
    EXPECT_EQ(error_of(with_fields("Expect: tea\r\n")), 417);
}

TEST(RequestReader, ReportsTheIncompletePart) {
    RequestReader reader(kLimits);
    RequestView request;
    std::string bytes;
    for (const auto& [more, part] :
         {std::pair{"", RequestReader::Part::kNothing},
          std::pair{"P", RequestReader::Part::kHead},
          std::pair{"OST / HTTP/1.1\r\nHost: h\r\n", RequestReader::Part::kHead},
          std::pair{"Content-Length: 1\r\n\r\n", RequestReader::Part::kBody}}) {
        bytes += more;
        std::span<char> input(bytes);
        ASSERT_EQ(reader.read(input, request), Outcome::kNeedMore);
        EXPECT_EQ(reader.part(), part) << bytes;
    }
}

TEST(RequestReader, RemovesTheFramingOfTinyChunks) {
    RequestReader reader(kLimits);
    RequestView request;
    std::string kept = with_fields("Transfer-Encoding: chunked\r\n");
    const std::size_t head = kept.size();
    for (int i = 0; i < 1'000; ++i) {
        kept += "1;extension=x\r\na\r\n";
        std::span<char> input(kept);
        ASSERT_EQ(reader.read(input, request), Outcome::kNeedMore);
        kept.resize(input.size());
        ASSERT_EQ(kept.size(), head + static_cast<std::size_t>(i) + 1);
    }
}

TEST(RequestReader, StaysFailedAfterAnError) {
    std::string bytes = "x\n";
    RequestReader reader(kLimits);
    RequestView request;
    std::span<char> input(bytes);
    EXPECT_EQ(reader.read(input, request), Outcome::kError);
    EXPECT_EQ(reader.read(input, request), Outcome::kError);
}

TEST(RequestReader, RefusesASecondAuthorization) {
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\n\r\n"), 0);
    EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\nX: y\r\n"
                       "authorization: Bearer a\r\n\r\n"),
              400);
}

}  // namespace
}  // namespace sluice::http
