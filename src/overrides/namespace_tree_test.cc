#include "overrides/namespace_tree.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::overrides {
namespace {

std::shared_ptr<const Rules> rules_of(const std::string& name_space, const std::string& id) {
    const auto rule = std::make_shared<const Rule>(Override{.workspace = "w",
                                                            .name_space = name_space,
                                                            .identifier = "i",
                                                            .id = id,
                                                            .grant = {},
                                                            .order = 1});
    return std::make_shared<const Rules>(std::vector<RulePointer>{rule}, 7);
}

std::string id_in(const NamespaceTree& tree, const std::string& name_space) {
    const Rules* const rules = tree.find({"w", name_space});
    return rules == nullptr ? "none" : rules->in_order().front()->entry.id;
}

TEST(NamespaceTree, IsWhatAMapWouldBe) {
    std::mt19937_64 random(5);
    NamespaceTree tree(99);
    std::map<std::string, std::string> model;
    for (int i = 0; i < 5'000; ++i) {
        // Towards the end, removals prevail.
        const std::string name = "n" + std::to_string(random() % 1'000);
        const bool removes = random() % 5'000 < static_cast<std::uint64_t>(i);
        const std::string id = std::to_string(i);
        tree = tree.with({"w", name}, removes ? nullptr : rules_of(name, id));
        if (removes) {
            model.erase(name);
        } else {
            model[name] = id;
        }
        const std::string asked = "n" + std::to_string(random() % 1'000);
        const auto held = model.find(asked);
        ASSERT_EQ(id_in(tree, asked), held == model.end() ? "none" : held->second) << i;
    }
    for (int i = 0; i < 1'000; ++i) {
        const std::string name = "n" + std::to_string(i);
        tree = tree.with({"w", name}, nullptr);
        EXPECT_EQ(id_in(tree, name), "none");
    }
}

TEST(NamespaceTree, AChangedCopyLeavesTheOriginalAsItIs) {
    NamespaceTree before(99);
    for (int i = 0; i < 500; ++i) {
        const std::string name = "n" + std::to_string(i);
        before = before.with({"w", name}, rules_of(name, "old"));
    }
    const NamespaceTree after =
        before.with({"w", "n7"}, rules_of("n7", "new")).with({"w", "n8"}, nullptr);
    EXPECT_EQ(id_in(before, "n7"), "old");
    EXPECT_EQ(id_in(before, "n8"), "old");
    EXPECT_EQ(id_in(after, "n7"), "new");
    EXPECT_EQ(id_in(after, "n8"), "none");
    EXPECT_EQ(before.find({"w", "n9"}), after.find({"w", "n9"})) << "what stays is shared";
}

}  // namespace
}  // namespace sluice::overrides
