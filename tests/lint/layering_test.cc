#include "lint/layering.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::lint {
namespace {

std::vector<std::string> faults_of(std::string_view path, std::string_view text) {
    const SourceFile file{.path = std::string(path), .text = std::string(text)};
    return layering_faults({&file, 1});
}

std::vector<SourceFile> files_of_this_repository() {
    return read_cpp_files(SLUICE_REPOSITORY, {"src", "sim", "include"});
}

TEST(Layering, HoldsInThisRepository) {
    const std::vector<SourceFile> files = files_of_this_repository();
    ASSERT_GT(files.size(), 5U) << "the repository was not found at " << SLUICE_REPOSITORY;
    for (const std::string& fault : layering_faults(files))
        ADD_FAILURE() << fault;
}

TEST(Layering, TableListsOnlyWhatIsIncluded) {
    for (const std::string& entry : unused_entries(files_of_this_repository()))
        ADD_FAILURE() << entry << ": nothing includes it. Fix it: delete it from the table.";
}

TEST(Layering, ReportsEntriesThatNothingNeeds) {
    const SourceFile file{.path = "src/breaker/breaker.cc", .text = "#include \"base/check.h\"\n"};
    const std::vector<std::string> unused = unused_entries({&file, 1});
    EXPECT_EQ(std::ranges::count(unused, "breaker -> base"), 0);
    EXPECT_EQ(std::ranges::count(unused, "decide -> counter"), 1);
}

TEST(Layering, AllowsTheIncludesOfTheTable) {
    EXPECT_TRUE(faults_of("src/breaker/breaker.cc",
                          "#include \"breaker/breaker.h\"\n"
                          "#include <sluice/time.h>\n"
                          "#include <sys/random.h>\n"
                          "#include <array>\n"
                          "#include \"base/check.h\"\n")
                    .empty());
    EXPECT_TRUE(faults_of("src/service/limiter.cc", "#include \"regional/redis/redis_origin.h\"\n")
                    .empty());
    EXPECT_TRUE(
        faults_of("src/regional/redis/redis_origin.h", "#include \"regional/origin.h\"\n").empty());
    EXPECT_TRUE(faults_of("sim/fleet.cc", "#include \"clock/fleet_clock.h\"\n").empty());
    EXPECT_TRUE(
        faults_of("include/sluice/limiter.h", "#include <span>\n#include <sluice/result.h>\n")
            .empty());
}

struct Forbidden {
    const char* path;
    const char* text;
};

class LayeringForbids : public testing::TestWithParam<Forbidden> {};

TEST_P(LayeringForbids, ThisInclude) {
    EXPECT_EQ(faults_of(GetParam().path, GetParam().text).size(), 1U)
        << GetParam().path << ' ' << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    LayeringForbids,
    testing::Values(
        Forbidden{"src/window/sliding.h", "#include \"counter/entry.h\""},
        Forbidden{"src/window/sliding.h", "  #  include <counter/entry.h>  // in angle brackets"},
        Forbidden{"src/window/sliding.h", "#include \"metrics/names.h\""},
        Forbidden{"src/base/clock.h", "#include \"metrics/names.h\""},
        Forbidden{"src/decide/single.cc", "#include \"regional/origin.h\""},
        Forbidden{"src/regional/region.cc", "#include \"decide/single.h\""},
        Forbidden{"src/regional/region.cc", "#include \"global/store.h\""},
        Forbidden{"src/global/importer.cc", "#include \"regional/origin.h\""},
        Forbidden{"src/regional/region.cc", "#include \"regional/redis/redis_origin.h\""},
        Forbidden{"src/regional/redis/redis_origin.cc", "#include \"regional/region.h\""},
        Forbidden{"src/global/mysql/mysql_global_store.cc", "#include \"counter/table.h\""},
        Forbidden{"src/global/sqlite/sqlite_global_store.cc",
                  "#include \"global/mysql/mysql_global_store.h\""},
        Forbidden{"src/service/limiter.cc", "#include \"http/wire/listener.h\""},
        Forbidden{"src/http/wire/listener.cc", "#include \"counter/table.h\""},
        Forbidden{"src/server/serve.cc", "#include \"regional/redis/redis_origin.h\""},
        Forbidden{"src/window/sliding.cc", "#include \"sliding.h\""},
        Forbidden{"src/window/sliding.cc", "#include \"../counter/entry.h\""},
        Forbidden{"src/attic/old.cc", ""},
        Forbidden{"src/regional/attic/old.cc", ""},
        Forbidden{"src/main.cc", ""},
        Forbidden{"include/sluice/limiter.h", "#include \"window/sliding.h\""},
        Forbidden{"include/sluice/limiter.h", "#include <window/sliding.h>"},
        Forbidden{"include/sluice/limiter.h", "#include \"sluice/result.h\""},
        Forbidden{"include/sluice/limiter.h", "#include <xxhash.h>"}));

TEST(Layering, ReportsEachFaultWithItsPlaceAndAFix) {
    const std::vector<SourceFile> files = {
        {.path = "src/breaker/breaker.cc",
         .text = "#include <array>\n\n#include \"decide/single.h\"\n"},
        {.path = "src/decide/batch.cc",
         .text = "#include \"counter/entry.h\"\n#include \"global/store.h\"\n"},
    };
    const std::vector<std::string> faults = layering_faults(files);
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_TRUE(faults[0].starts_with("src/breaker/breaker.cc:3: ")) << faults[0];
    EXPECT_NE(faults[0].find("may include only this: base. Fix it: "), std::string::npos)
        << faults[0];
    EXPECT_TRUE(faults[1].starts_with("src/decide/batch.cc:2: ")) << faults[1];
}

TEST(Layering, IgnoresIncludesThatAreCommentedOut) {
    EXPECT_TRUE(faults_of("src/window/sliding.cc", "// #include \"decide/single.h\"\n").empty());
}

// This makes a cycle impossible.
TEST(Layering, TableListsLowerLayersFirst) {
    std::vector<std::string_view> below;
    for (const Layer& layer : layers()) {
        for (const std::string_view name : words_of(layer.may_include)) {
            const std::string_view other =
                name.ends_with(".h") ? name.substr(0, name.rfind('/')) : name;
            EXPECT_NE(std::find(below.begin(), below.end(), other), below.end())
                << layer.name << " may include " << name << ", which is not below it";
        }
        below.push_back(layer.name);
    }
}

}  // namespace
}  // namespace sluice::lint
