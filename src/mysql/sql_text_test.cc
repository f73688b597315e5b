#include <gtest/gtest.h>

#include "mysql/mysql_connection.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(SqlText, HoldsAnyBytes) {
    EXPECT_EQ(sql_bytes(""), "_binary''");
    EXPECT_EQ(sql_bytes("Az 09~"), "_binary'Az 09~'");
    EXPECT_EQ(sql_bytes("\x7F"), "x'7F'");
    EXPECT_EQ(sql_bytes("a'"), "x'6127'");
    EXPECT_EQ(sql_bytes("a\\"), "x'615C'");
    EXPECT_EQ(sql_bytes("'\\\0\xFF"sv), "x'275C00FF'");
}

TEST(SqlText, IsAppended) {
    std::string sql = "SELECT ";
    append_bytes(sql, "a");
    EXPECT_EQ(sql, "SELECT _binary'a'");
}

}  // namespace
}  // namespace sluice
