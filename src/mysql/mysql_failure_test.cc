#include "mysql/mysql_failure.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Kind = MysqlFailure::Kind;

Kind kind_of(unsigned int code) {
    return mysql_failure("mysql://h:3306/d", code, "text").kind;
}

TEST(MysqlFailure, ALockThatOthersHeldIsBusy) {
    EXPECT_EQ(kind_of(1205), Kind::kBusy);
    EXPECT_EQ(kind_of(1213), Kind::kBusy);
    EXPECT_EQ(kind_of(3101), Kind::kBusy);
}

TEST(MysqlFailure, AServerThatIsNotThereIsLost) {
    for (const unsigned int code : {1040U, 1053U, 2002U, 2003U, 2005U, 2006U, 2013U}) {
        EXPECT_EQ(kind_of(code), Kind::kLost) << code;
    }
}

TEST(MysqlFailure, AValueThatDoesNotFitConcernsTheRowsAlone) {
    for (const unsigned int code : {1153U, 1264U, 1366U, 1406U, 1644U, 3819U, 4025U}) {
        EXPECT_EQ(kind_of(code), Kind::kRows) << code;
    }
}

TEST(MysqlFailure, AnErrorThatNeedsAnOperatorIsRefused) {
    for (const unsigned int code : {1044U, 1045U, 1049U, 1146U, 1290U, 1836U, 2026U, 1U, 65'000U}) {
        EXPECT_EQ(kind_of(code), Kind::kRefused) << code;
    }
}

TEST(MysqlFailure, AnUnlistedErrorOfTheServerIsUnknown) {
    for (const unsigned int code : {1062U, 1416U, 3140U, 4078U}) {
        EXPECT_EQ(kind_of(code), Kind::kUnknown) << code;
    }
}

TEST(MysqlFailure, NamesTheServerWhatToDoAndTheServersOwnWords) {
    EXPECT_EQ(mysql_failure("mysql://h:3306/d", 1836, "Running in read-only mode").why,
              "mysql://h:3306/d: it is read-only; name the primary, or make this one writable "
              "[MySQL: Running in read-only mode, 1836]");
    EXPECT_EQ(mysql_failure("mysql://h:3306/d", 1064, "You have an error").why,
              "mysql://h:3306/d: it refused [MySQL: You have an error, 1064]");
}

}  // namespace
}  // namespace sluice
