#include "overrides/override_set.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "overrides/store.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;

constexpr LimitAndDuration kValue{.limit = 5, .duration = 60s};

// Holds what it is given beyond the life of a set, and refuses on demand.
class FakeStore final : public OverrideStore {
  public:
    struct Held {
        std::vector<Override> overrides;
        bool refuses = false;
    };
    explicit FakeStore(Held& held) : held_(held) {}

    Result<std::uint64_t> version() override { return 0; }
    Result<Contents> load_all() override {
        if (held_.refuses) return refusal();
        return Contents{held_.overrides, 0};
    }
    Result<Stored> put(const Override& entry, const std::optional<Author>&) override {
        if (held_.refuses) return refusal();
        (void)remove(entry.key(), {});
        held_.overrides.push_back(entry);
        return Stored{entry, 0};
    }
    Result<std::vector<Change>> changes(const ChangeQuery&) override {
        return std::vector<Change>{};
    }
    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>&) override {
        if (held_.refuses) return refusal();
        const auto removed = std::erase_if(held_.overrides, [&](const Override& held) {
            return held.key().namespace_key() == key.namespace_key() &&
                   held.identifier == key.identifier;
        });
        return Removed{removed > 0, 0};
    }

  private:
    static Error refusal() { return {kStoreFailed, "the fake refuses"}; }
    Held& held_;
};

std::unique_ptr<OverrideSet> empty_set() {
    return OverrideSet::open(std::make_unique<MemoryStore>()).value();
}

std::unique_ptr<OverrideSet> set_on(FakeStore::Held& held) {
    return OverrideSet::open(std::make_unique<FakeStore>(held)).value();
}

OverrideKey key_of(std::string_view identifier) {
    return {.workspace = "w", .name_space = "n", .identifier = identifier};
}

TEST(OverrideSet, SettingAgainKeepsTheIdAndTheAge) {
    const auto set = empty_set();
    const std::string id = set->set(key_of("a"), kValue).value();
    EXPECT_TRUE(id.starts_with("rlor_")) << id;
    EXPECT_NE(set->set(key_of("b"), kValue).value(), id);
    EXPECT_EQ(set->set(key_of("a"), {.limit = 0, .duration = 1s}).value(), id);
    const auto held = set->get(key_of("a"));
    ASSERT_TRUE(held);
    EXPECT_EQ(held->value, (LimitAndDuration{.limit = 0, .duration = 1s}));
    EXPECT_EQ(set->size(), 2U);
    EXPECT_EQ(set->list({"w", "n"}, {.cursor = {}, .limit = 1})->overrides[0].identifier, "a");
}

TEST(OverrideSet, SettingAfterRemovingMakesANewOne) {
    const auto set = empty_set();
    const std::string id = set->set(key_of("a*"), kValue).value();
    auto reader = set->reader();
    EXPECT_TRUE(set->remove(key_of("a*")).value());
    EXPECT_FALSE(set->remove(key_of("a*")).value());
    EXPECT_FALSE(set->get(key_of("a*")));
    reader.refresh();
    EXPECT_EQ(reader.get().match(key_of("ab")), nullptr);
    EXPECT_NE(set->set(key_of("a*"), kValue).value(), id);
    reader.refresh();
    EXPECT_NE(reader.get().match(key_of("ab")), nullptr);
    EXPECT_EQ(set->size(), 1U);
}

TEST(OverrideSet, WorkspacesAndNamespacesAreWorldsOfTheirOwn) {
    const auto set = empty_set();
    const OverrideKey key{.workspace = "ab", .name_space = "c", .identifier = "*"};
    (void)set->set(key, kValue).value();
    const auto reader = set->reader();
    EXPECT_NE(reader.get().match({"ab", "c", "x"}), nullptr);
    EXPECT_EQ(reader.get().match({"a", "bc", "x"}), nullptr);
    EXPECT_EQ(reader.get().match({"ab", "d", "x"}), nullptr);
    EXPECT_EQ(reader.get().match({"c", "ab", "x"}), nullptr);
    EXPECT_FALSE(set->get({"a", "bc", "*"}));
    EXPECT_FALSE(set->remove({"a", "bc", "*"}).value());
}

TEST(OverrideSet, ANamespaceIsFoundWhateverHappensToItsNeighbours) {
    const auto set = empty_set();
    const auto name = [](int i) { return "namespace_" + std::to_string(i); };
    for (int i = 0; i < 300; ++i) {
        (void)set->set({"w", name(i), "*"}, kValue).value();
    }
    for (int i = 0; i < 300; i += 2) {
        EXPECT_TRUE(set->remove({"w", name(i), "*"}).value());
    }
    const auto reader = set->reader();
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(reader.get().match({"w", name(i), "x"}) != nullptr, i % 2 == 1) << name(i);
    }
    EXPECT_EQ(set->size(), 150U);
}

TEST(OverrideSet, AFieldOutOfRangeIsRefused) {
    const auto set = empty_set();
    const std::string long_text(2'049, 'x');
    const auto code = [&](const OverrideKey& key, const LimitAndDuration& value) {
        return set->set(key, value).error().code;
    };
    EXPECT_EQ(code({"", "n", "i"}, kValue), kInvalidRequest);
    EXPECT_EQ(code({"w", "", "i"}, kValue), kInvalidRequest);
    EXPECT_EQ(code({"w", "n", ""}, kValue), kInvalidRequest);
    EXPECT_EQ(code({"w", "n", long_text}, kValue), kInvalidRequest);
    EXPECT_EQ(code(key_of("i"), {.limit = -1, .duration = 1s}), kInvalidRequest);
    EXPECT_EQ(code(key_of("i"), {.limit = std::int64_t{1} << 53, .duration = 1s}), kInvalidRequest);
    EXPECT_EQ(code(key_of("i"), {.limit = 1, .duration = 999ms}), kInvalidRequest);
    EXPECT_EQ(code(key_of("i"), {.limit = 1, .duration = 8784h + 1ms}), kInvalidRequest);
    EXPECT_EQ(set->size(), 0U);
    EXPECT_TRUE(set->set(key_of("i"), {.limit = 1, .duration = 8784h}));
}

std::set<std::string> identifiers_of(const Page& page) {
    std::set<std::string> identifiers;
    for (const Override& entry : page.overrides) {
        identifiers.insert(entry.identifier);
    }
    return identifiers;
}

TEST(OverrideSet, PagesNeitherSkipNorRepeatWhileOverridesChange) {
    const auto set = empty_set();
    for (const char* identifier : {"a", "b", "c", "d", "e"}) {
        (void)set->set(key_of(identifier), kValue).value();
    }
    const Page first = set->list({"w", "n"}, {.cursor = {}, .limit = 2}).value();
    EXPECT_EQ(identifiers_of(first), (std::set<std::string>{"a", "b"}));
    ASSERT_TRUE(first.cursor);
    (void)set->remove(key_of("b")).value();
    (void)set->set(key_of("a"), {.limit = 1, .duration = 1s}).value();
    const Page second = set->list({"w", "n"}, {.cursor = *first.cursor, .limit = 3}).value();
    EXPECT_EQ(identifiers_of(second), (std::set<std::string>{"c", "d", "e"}));
    EXPECT_FALSE(second.cursor) << "the last page must not lead to another one";
}

TEST(OverrideSet, AnEmptyNamespaceIsAnEmptyPage) {
    const Page page = empty_set()->list({"w", "n"}, {.cursor = {}, .limit = 50}).value();
    EXPECT_TRUE(page.overrides.empty());
    EXPECT_FALSE(page.cursor);
}

TEST(OverrideSet, AnUnknownCursorIsRefused) {
    const auto set = empty_set();
    for (const char* cursor : {"x", "c", "c1x", "c-1", "1", "c99999999999999999999999"}) {
        const auto page = set->list({"w", "n"}, {.cursor = cursor, .limit = 1});
        ASSERT_FALSE(page) << cursor;
        EXPECT_EQ(page.error().code, kInvalidRequest);
    }
}

TEST(OverrideSet, WhatTheStoreHeldIsThereAgain) {
    FakeStore::Held held;
    std::string id;
    {
        const auto set = set_on(held);
        id = set->set(key_of("a*"), kValue).value();
        (void)set->set(key_of("*b"), kValue).value();
    }
    const auto set = set_on(held);
    const auto reader = set->reader();
    ASSERT_NE(reader.get().match(key_of("ab")), nullptr);
    EXPECT_EQ(reader.get().match(key_of("ab"))->id, id) << "the older one still applies";
    EXPECT_EQ(set->set(key_of("a*"), kValue).value(), id);
    (void)set->set(key_of("c"), kValue).value();
    EXPECT_EQ(set->list({"w", "n"}, {.cursor = {}, .limit = 9})->overrides.back().identifier, "c");
}

TEST(OverrideSet, ARefusalOfTheStoreChangesNothing) {
    FakeStore::Held held;
    const auto set = set_on(held);
    (void)set->set(key_of("a"), kValue).value();
    held.refuses = true;
    EXPECT_EQ(set->set(key_of("a"), {.limit = 1, .duration = 1s}).error().code, kStoreFailed);
    EXPECT_EQ(set->set(key_of("b"), kValue).error().code, kStoreFailed);
    EXPECT_EQ(set->remove(key_of("a")).error().code, kStoreFailed);
    EXPECT_EQ(set->get(key_of("a"))->value, kValue);
    EXPECT_FALSE(set->get(key_of("b")));
    EXPECT_EQ(set->size(), 1U);
    EXPECT_FALSE(OverrideSet::open(std::make_unique<FakeStore>(held)));
}

TEST(OverrideSet, AStoredOverrideOutOfRangeIsReported) {
    FakeStore::Held held;
    held.overrides.push_back({"w", "n", "i", "rlor_1", {.limit = -1, .duration = 1s}, 1});
    const auto set = OverrideSet::open(std::make_unique<FakeStore>(held));
    ASSERT_FALSE(set);
    EXPECT_NE(set.error().message.find("rlor_1"), std::string::npos) << set.error().message;
}

void fill(FakeStore::Held& held, const std::string& pattern, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t order = held.overrides.size() + 1;
        const std::string number = std::to_string(order);
        held.overrides.push_back({"w", "n", pattern + number, "rlor_" + number, kValue, order});
    }
}

void expect_full(OverrideSet& set, std::string_view identifier, const std::string& most) {
    const auto id = set.set(key_of(identifier), kValue);
    ASSERT_FALSE(id) << identifier;
    EXPECT_EQ(id.error().code, kInvalidRequest);
    EXPECT_NE(id.error().message.find(most), std::string::npos) << id.error().message;
}

TEST(OverrideSet, AFullNamespaceSaysSoAndStillChanges) {
    FakeStore::Held held;
    fill(held, "*a*", kMaxSearchedPerNamespace);
    fill(held, "*", kMaxPatternsPerNamespace - kMaxSearchedPerNamespace - 1);
    fill(held, "x", kMaxPerNamespace - kMaxPatternsPerNamespace - 1);
    const auto set = set_on(held);
    expect_full(*set, "*b*c", "100 ");
    (void)set->set(key_of("b*"), kValue).value();
    expect_full(*set, "c*", "1000 ");
    (void)set->set(key_of("y"), kValue).value();
    expect_full(*set, "z", "10000 ");
    EXPECT_TRUE(set->set(key_of("b*"), {.limit = 1, .duration = 1s}));
    EXPECT_TRUE(set->set({"w", "another", "z"}, kValue));
    EXPECT_TRUE(set->remove(key_of("y")).value());
    EXPECT_TRUE(set->set(key_of("z"), kValue));
}

// Both bounds count what is in the namespace and what is to be added.
TEST(OverrideSet, ThePatternsOfANamespaceAreBoundedTogether) {
    const auto set = empty_set();
    std::string many_texts = "*";
    for (std::size_t i = 1; i < kMaxInnerTextsPerNamespace; ++i)
        many_texts += "a*";
    EXPECT_TRUE(set->set(key_of(many_texts), kValue));
    EXPECT_TRUE(set->set(key_of("*b*"), kValue));
    expect_full(*set, "*c*", "256 texts");
    EXPECT_TRUE(set->set(key_of(many_texts), kValue)) << "it is held already";
    EXPECT_TRUE(set->set({"w", "another", "*c*"}, kValue));

    std::size_t bytes = many_texts.size() + 3;
    for (int i = 0; bytes + 2'000 <= kMaxPatternBytesPerNamespace; ++i, bytes += 2'000)
        ASSERT_TRUE(
            set->set(key_of(std::to_string(1'000 + i) + std::string(1'995, 'x') + "*"), kValue));
    expect_full(*set, std::string(1'999, 'y') + "*", std::to_string(bytes) + " bytes");
    EXPECT_TRUE(set->set(key_of("exact"), kValue)) << "it is no pattern";
}

TEST(OverrideSet, APatternBeyondTheBoundsOfANamespaceIsRefusedAsTheFirstOne) {
    const auto set = empty_set();
    std::string too_many = "*";
    for (std::size_t i = 0; i <= kMaxInnerTextsPerNamespace; ++i)
        too_many += "a*";
    expect_full(*set, too_many, "257 more");
}

TEST(OverrideSet, TheInnerTextsOfAWorkspaceAreBounded) {
    const auto set = empty_set();
    std::string pattern = "*";
    for (int i = 0; i < 250; ++i)
        pattern += "a*";
    const auto set_in = [&](const std::string& workspace, int name_space) {
        return set->set({workspace, std::to_string(name_space), pattern}, kValue);
    };
    for (int i = 0; i < 40; ++i)
        ASSERT_TRUE(set_in("w", i));
    const auto refused = set->set({"w", "another", "*b*"}, kValue);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "the workspace holds 10000 texts between two '*', and this override adds 1 more; "
              "allowed: up to 10000");
    EXPECT_TRUE(set_in("w", 7)) << "it is held already";
    EXPECT_TRUE(set_in("v", 7)) << "another workspace";
    EXPECT_TRUE(set->set({"w", "another", "b*c"}, kValue)) << "without inner texts";
    EXPECT_TRUE(set->remove({"w", "7", pattern}).value());
    EXPECT_TRUE(set->set({"w", "another", "*b*"}, kValue));
    EXPECT_FALSE(set_in("w", 7));
}

}  // namespace
}  // namespace sluice::overrides
