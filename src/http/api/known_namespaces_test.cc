#include "http/api/known_namespaces.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(KnownNamespaces, ContainWhatWasAdded) {
    KnownNamespaces known(7);
    EXPECT_FALSE(known.contains({"w", "n"}));
    known.add({"w", "n"});
    known.add({"w", "n"});
    EXPECT_TRUE(known.contains({"w", "n"}));
    EXPECT_FALSE(known.contains({"n", "w"}));
    EXPECT_FALSE(known.contains({"wn", ""}));
    EXPECT_FALSE(known.contains({"x", "n"}));
    EXPECT_FALSE(known.contains({"w", "m"}));
}

TEST(KnownNamespaces, ContainEverythingOnceFull) {
    KnownNamespaces known(7);
    for (std::size_t i = 0; i + 1 < KnownNamespaces::kMaxNames; ++i)
        known.add({"w", std::to_string(i)});
    EXPECT_TRUE(known.contains({"w", "5"}));
    EXPECT_FALSE(known.contains({"w", "other"}));
    for (std::size_t i = 0; i < 3 * KnownNamespaces::kMaxNames; ++i)
        known.add({"flood", std::to_string(i)});
    EXPECT_TRUE(known.contains({"w", "other"}));
}

TEST(KnownNamespaces, AcceptConcurrentAdds) {
    KnownNamespaces known(7);
    const auto add = [&] {
        for (int i = 0; i < 10'000; ++i)
            known.add({"w", std::to_string(i)});
    };
    std::thread one(add);
    std::thread other(add);
    one.join();
    other.join();
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(known.contains({"w", std::to_string(i)})) << i;
    EXPECT_FALSE(known.contains({"w", "10000"}));
}

}  // namespace
}  // namespace sluice::http
