#include "log/log.h"

#include <string>

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "log/captured_log.h"

namespace sluice {
namespace {

// The line without the time at its start.
std::string after_time(const std::string& line) {
    return line.substr(line.find(' ') + 1);
}

TEST(Log, TextLineHasTheEventAndItsFields) {
    CapturedLog out;
    out.log.info("started", {{"address", "127.0.0.1:1"}, {"threads", 4}, {"tls", false}});
    EXPECT_EQ(after_time(out.text()), "info started address=127.0.0.1:1 threads=4 tls=false\n");
    EXPECT_EQ(out.text().find('T'), 10U);
    EXPECT_EQ(out.text().find('Z'), 23U);
}

TEST(Log, TextValueOfSeveralWordsIsQuoted) {
    CapturedLog out;
    out.log.warn("refused", {{"why", "a \"b\""}, {"empty", ""}});
    EXPECT_EQ(after_time(out.text()), "warn refused why=\"a \\\"b\\\"\" empty=\"\"\n");
}

TEST(Log, JsonLineIsOneObject) {
    CapturedLog out({.format = LogFormat::kJson});
    out.log.error("stopped", {{"code", -1}, {"why", "x\"y"}, {"clean", true}});
    const std::string text = out.text();
    EXPECT_TRUE(text.starts_with("{\"time\":\"")) << text;
    EXPECT_TRUE(
        text.ends_with("Z\",\"level\":\"error\",\"event\":\"stopped\",\"code\":-1,\"why\":"
                       "\"x\\\"y\",\"clean\":true}\n"))
        << text;
}

TEST(Log, ValueCannotForgeALine) {
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
        CapturedLog out({.format = format});
        out.log.info("event", {{"value", "a\nb\x01%v"}});
        EXPECT_EQ(out.text().find('\n'), out.text().size() - 1);
        EXPECT_NE(out.text().find("\"a\\nb\\u0001%v\""), std::string::npos) << out.text();
    }
}

TEST(Log, LinesAreUtf8WhateverAValueHolds) {
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
        CapturedLog out({.format = format});
        out.log.info("event", {{"value", "caf\xC3\xA9 \xFF\xC3"}, {"name", "\xFE"}});
        const std::string text = out.text();
        EXPECT_EQ(to_utf8(text), text);
        EXPECT_NE(text.find("\"caf\xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD\""), std::string::npos) << text;
        EXPECT_NE(text.find("\"\xEF\xBF\xBD\""), std::string::npos) << text;
    }
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
    CapturedLog out({.level = LogLevel::kWarn});
    out.log.info("quiet");
    EXPECT_EQ(out.text(), "");
    out.log.set_level(LogLevel::kDebug);
    out.log.debug("loud");
    EXPECT_EQ(after_time(out.text()), "debug loud\n");
    out.log.set_level(LogLevel::kOff);
    out.log.error("silence");
    EXPECT_EQ(after_time(out.text()), "debug loud\n");
}

}  // namespace
}  // namespace sluice
