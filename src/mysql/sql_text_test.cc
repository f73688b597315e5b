#include "mysql/sql_text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(SqlText, HoldsAnyBytes) {
    EXPECT_EQ(sql_bytes(""), "x''");
    EXPECT_EQ(sql_bytes("Az"), "x'417A'");
    EXPECT_EQ(sql_bytes("'\\\0\xFF"sv), "x'275C00FF'");
}

TEST(SqlText, IsAppended) {
    std::string sql = "SELECT ";
    append_bytes(sql, "a");
    EXPECT_EQ(sql, "SELECT x'61'");
}

}  // namespace
}  // namespace sluice
