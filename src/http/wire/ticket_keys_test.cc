#include <gtest/gtest.h>

#include "http/wire/tls.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

class TicketKeysTest : public testing::Test {
  protected:
    TicketKeys::Time now{};
    TicketKeys keys{[this] { return now; }};
};

TEST_F(TicketKeysTest, UsesOneKeyForAnHour) {
    const auto first = keys.current();
    ASSERT_TRUE(first.has_value());
    now += 59min;
    EXPECT_EQ(keys.current()->name, first->name);
    now += 1min;
    const auto second = keys.current();
    EXPECT_NE(second->name, first->name);
    EXPECT_NE(second->cipher, first->cipher);
    EXPECT_NE(second->mac, first->mac);
}

TEST_F(TicketKeysTest, DecryptsWithAKeyForAnotherHour) {
    const auto first = keys.current();
    ASSERT_TRUE(keys.find(first->name).has_value());
    EXPECT_TRUE(keys.find(first->name)->is_current);
    now += 60min;
    EXPECT_FALSE(keys.find(first->name)->is_current) << "even if no new ticket was made yet";
    keys.current();
    now += 59min;
    ASSERT_TRUE(keys.find(first->name).has_value());
    EXPECT_EQ(keys.find(first->name)->key.cipher, first->cipher);
    now += 1min;
    EXPECT_FALSE(keys.find(first->name).has_value());
}

TEST_F(TicketKeysTest, ErasesAKeyThatWasNotRenewed) {
    const auto first = keys.current();
    now += 5h;
    keys.current();
    EXPECT_FALSE(keys.find(first->name).has_value());
}

TEST_F(TicketKeysTest, DoesNotFindAnUnknownKey) {
    keys.current();
    TicketKeys foreign([this] { return now; });
    EXPECT_FALSE(keys.find(foreign.current()->name).has_value());
}

}  // namespace
}  // namespace sluice::http
