#include "page/assets.h"

#include <gtest/gtest.h>

namespace sluice::page {
namespace {

TEST(Assets, TheStartPageIsAtTheRoot) {
    const Asset* const start = find_asset("/");
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->content_type, "text/html; charset=utf-8");
    EXPECT_TRUE(start->content.starts_with("<!doctype html>"));
}

TEST(Assets, OtherPathsHaveNoFile) {
    for (const std::string_view path : {"", "index.html", "/index.html", "/app", "/../app.js"})
        EXPECT_EQ(find_asset(path), nullptr) << path;
}

TEST(Assets, HaveADigestAndACompressedForm) {
    for (const Asset& asset : assets()) {
        EXPECT_EQ(asset.digest.size(), 16U) << asset.path;
        EXPECT_TRUE(asset.gzip.starts_with("\x1f\x8b")) << asset.path;
        EXPECT_LT(asset.gzip.size(), asset.content.size()) << asset.path;
    }
}

TEST(Assets, AreUnder150KBCompressed) {
    std::size_t size = 0;
    for (const Asset& asset : assets())
        if (asset.path.starts_with('/')) size += asset.gzip.size();
    EXPECT_LT(size, 150'000U);
}

// The Content-Security-Policy of the page forbids what is inline.
TEST(Assets, HaveNoInlineScriptsOrStyles) {
    for (const Asset& asset : assets()) {
        if (!asset.content_type.starts_with("text/html")) continue;
        for (const std::string_view inline_code : {"<style", " style=", " onclick=", "<script>"})
            EXPECT_EQ(asset.content.find(inline_code), std::string_view::npos) << asset.path;
    }
}

}  // namespace
}  // namespace sluice::page
