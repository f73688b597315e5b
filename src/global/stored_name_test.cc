#include "global/stored_name.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "global/store.h"

namespace sluice {
namespace {

CellName cell(std::string identifier) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = Duration{60'000},
            .sequence = 7};
}

TEST(StoredNameTest, WhatFitsIsStoredAsItIs) {
    for (const std::size_t size : {1U, 254U, 255U}) {
        const CellName name = cell(std::string(size, 'x'));
        EXPECT_EQ(stored_name(name), name);
        EXPECT_FALSE(is_hashed(stored_name(name)));
    }
}

TEST(StoredNameTest, WhatDoesNotFitIsStoredByItsDigestAndCanBeRecognised) {
    const CellName stored = stored_name(cell(std::string(256, 'x')));
    EXPECT_EQ(stored.identifier.size(), kStoredIdentifierBytes + 1);
    EXPECT_TRUE(stored.identifier.starts_with("xxxxx"));
    EXPECT_TRUE(is_hashed(stored));
    EXPECT_EQ(stored.workspace, "w");
    EXPECT_EQ(stored.sequence, 7);
}

// By another program.
TEST(StoredNameTest, TheDigestIsSha256) {
    const CellName stored = stored_name(cell(std::string(256, 'x')));
    EXPECT_EQ(stored.identifier.substr(192),
              "85e62acd750c4eb56b7b6a1d66dca5bfaac5f062608a1a893410d0288936c09a");
}

TEST(StoredNameTest, LongNamesThatDifferAnywhereStayDifferent) {
    std::set<CellName> names;
    for (const std::size_t at : {0U, 100U, 191U, 192U, 300U, 511U}) {
        std::string identifier(512, 'x');
        identifier[at] = 'y';
        names.insert(stored_name(cell(identifier)));
    }
    names.insert(stored_name(cell(std::string(511, 'x'))));
    // Not even one that was made to look like another's digest.
    const CellName digest = stored_name(cell(std::string(512, 'x')));
    names.insert(digest);
    names.insert(stored_name(cell(digest.identifier)));
    EXPECT_EQ(names.size(), 9U);
}

TEST(StoredNameTest, EachPartHasItsOwnLength) {
    const CellName stored = stored_name({.workspace = std::string(192, 'w'),
                                         .name_space = std::string(256, 'n'),
                                         .identifier = std::string(2'048, 'i'),
                                         .duration = Duration{1'000},
                                         .sequence = 1});
    EXPECT_EQ(stored.workspace.size(), kStoredWorkspaceBytes + 1);
    EXPECT_EQ(stored.name_space.size(), kStoredNamespaceBytes + 1);
    EXPECT_EQ(stored.identifier.size(), kStoredIdentifierBytes + 1);
}

}  // namespace
}  // namespace sluice
