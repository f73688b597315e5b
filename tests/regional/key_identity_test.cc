// Keys that look alike never share a cell: not in a node, and not in Redis.
#include <sluice/limiter.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using redis_test::RedisServer;

constexpr std::int64_t kNow = 1'699'999'860'000;

// A namespace and an identifier.
using Names = std::pair<std::string, std::string>;

// Characters of one to four bytes, drawn by chance, as UTF-8; some are written escaped in JSON.
std::string any_text(std::size_t characters, std::mt19937& random) {
    const std::vector<std::string> alphabet = {"\0"s,
                                               "\n",
                                               "\r",
                                               "\t",
                                               "\"",
                                               "\\",
                                               " ",
                                               ",",
                                               ":",
                                               "{",
                                               "}",
                                               "*",
                                               "a",
                                               "A",
                                               "\x7f",
                                               "\xc3\xa9",
                                               "\xe2\x82\xac",
                                               "\xf0\x9f\xa6\x80"};
    std::string text;
    for (std::size_t i = 0; i < characters; ++i)
        text += alphabet[random() % alphabet.size()];
    return text;
}

std::vector<Names> look_alikes() {
    std::vector<Names> names = {
        {"a-b", "c"},       {"a", "b-c"},        {"a:b", "c"},       {"a", "b:c"},
        {"a,b", "c"},       {"a", "b,c"},        {"1:a", "c"},       {"a", "1:c"},
        {"a,1:b", "c"},     {"a", "1:b,1:c"},    {"ab", "c"},        {"a", "bc"},
        {"n", "alice"},     {"n", "Alice"},      {"n", "ALICE"},     {"N", "alice"},
        {"n", "alice "},    {"n", "alice  "},    {"n", " alice"},    {"n ", "alice"},
        {"n", "alice\0"s},  {"n", "alice\0\0"s}, {"n", "\0alice"s},  {"n", "alice\0x"s},
        {"n\0"s, "alice"},  {"n", "alice\n"},    {"n", "alice\r\n"}, {"n", "\nalice"},
        {"n", "al\nice"},   {"n", "{alice}"},    {"n", "{}alice"},   {"n", "alice{}"},
        {"n", "%61lice"},   {"n", "al*ce"},      {"n", "al?ce"},     {"n", "60000:1"},
        {"n", "e\xcc\x81"}, {"n", "\xc3\xa9"},   {"n", "total"},     {"total", "n"},
    };
    std::mt19937 random(1);
    for (int i = 0; i < 10; ++i)
        names.emplace_back("n", any_text(512, random));
    names.emplace_back("n", std::string(512, 'x'));
    names.emplace_back("n", std::string(511, 'x'));
    names.emplace_back("n", std::string(511, 'x') + "X");
    names.emplace_back("n", std::string(511, 'x') + "\0"s);
    names.emplace_back(std::string(512, 'n'), "x");
    return names;
}

TEST(KeyIdentity, OverHttpNoTwoKeysShareACell) {
    RedisServer redis;
    const Servers servers = make_servers(2, redis.url(), {"--test-clock"});
    LimitClient one(*servers[0]);
    LimitClient two(*servers[1]);
    const std::vector<Names> all = look_alikes();
    const auto ask_for = [](const Names& names) {
        return Ask{.name_space = names.first, .identifier = names.second, .limit = 1, .at = kNow};
    };
    for (const Names& names : all) {
        const LimitResult result = one.ask(ask_for(names));
        ASSERT_EQ(result.status, 200) << result.body;
        EXPECT_TRUE(result.passed) << testing::PrintToString(names);
    }
    ASSERT_TRUE(eventually([&] { return held_cells(redis).size() == all.size(); }));
    for (const Names& names : all) {
        EXPECT_FALSE(two.ask(ask_for(names)).passed) << testing::PrintToString(names);
        EXPECT_FALSE(one.ask(ask_for(names)).passed) << testing::PrintToString(names);
    }
    std::set<Names> held;
    for (const HeldCell& cell : held_cells(redis)) {
        EXPECT_EQ(cell.total, 1);
        const KeyParts parts = parts_of(cell.key);
        held.emplace(parts.name_space, parts.identifier);
    }
    EXPECT_EQ(held, std::set<Names>(all.begin(), all.end()));
}

TEST(KeyIdentity, OfTheLibraryHoldsForAnyBytesAndEachPart) {
    RedisServer redis;
    auto nodes = make_nodes(2, redis.url());
    const UnixTime now{std::chrono::milliseconds(kNow)};
    std::mt19937 random(2);
    std::vector<std::string> texts = {"a", "b", "a,", ",a", "1:a", "a\0"s, "\0"s, "\xff", "\x80"};
    for (int i = 0; i < 4; ++i) {
        std::string bytes(512, ' ');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        texts.push_back(bytes);
    }
    std::size_t cells = 0;
    for (const std::string& workspace : {"w"s, "w\0"s, "W"s}) {
        for (const std::string& name_space : {"n"s, "n,"s}) {
            for (const std::string& identifier : texts) {
                for (const auto duration : {60'000ms, 60'001ms}) {
                    const Request request{.workspace = workspace,
                                          .name_space = name_space,
                                          .identifier = identifier,
                                          .limit = 1,
                                          .duration = duration};
                    ASSERT_TRUE(nodes[0].limit(request, now)->passed);
                    ASSERT_TRUE(becomes_synced(nodes[0], request, now));
                    ASSERT_FALSE(nodes[1].limit(request, now)->passed);
                    ++cells;
                }
            }
        }
    }
    EXPECT_EQ(held_cells(redis).size(), cells);
}

TEST(KeyIdentity, RegionsThatShareARedisDontSeeEachOther) {
    RedisServer redis;
    const server_test::Server east(sharing(redis.url(), {"--test-clock", "--region", "east"}));
    const server_test::Server west(sharing(redis.url(), {"--test-clock", "--region", "west"}));
    const Ask ask{.identifier = "alice", .limit = 1, .at = kNow};
    EXPECT_TRUE(LimitClient(east).ask(ask).passed);
    ASSERT_TRUE(eventually([&] { return held_cells(redis).size() == 1; }));
    EXPECT_TRUE(LimitClient(west).ask(ask).passed);
    EXPECT_TRUE(eventually([&] { return held_cells(redis).size() == 2; }));
}

}  // namespace
}  // namespace sluice::regional_test
