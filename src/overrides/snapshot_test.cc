#include "overrides/snapshot.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::overrides {
namespace {

Override override_in(const std::string& name_space, const std::string& id) {
    return {.workspace = "w",
            .name_space = name_space,
            .identifier = "i",
            .id = id,
            .value = {},
            .order = 1};
}

std::string id_in(const Snapshot& snapshot, const std::string& name_space) {
    const OverrideRules* const rules = snapshot.rules({"w", name_space});
    return rules == nullptr ? "none" : rules->in_order().front()->entry.id;
}

TEST(Snapshot, FindsWhatAMapWouldFind) {
    std::mt19937_64 random(5);
    auto snapshot = std::make_shared<const Snapshot>(std::vector<Override>{}, 99);
    std::map<std::string, std::string> model;
    for (int i = 0; i < 5'000; ++i) {
        // Towards the end, removals prevail.
        const std::string name = "n" + std::to_string(random() % 1'000);
        const bool removes = random() % 5'000 < static_cast<std::uint64_t>(i);
        const std::string id = std::to_string(i);
        if (!removes) {
            snapshot = snapshot->with(override_in(name, id));
            model[name] = id;
        } else if (model.erase(name) > 0) {
            snapshot = snapshot->without({"w", name, "i"});
        }
        const std::string asked = "n" + std::to_string(random() % 1'000);
        const auto held = model.find(asked);
        ASSERT_EQ(id_in(*snapshot, asked), held == model.end() ? "none" : held->second) << i;
        ASSERT_EQ(snapshot->size(), model.size());
    }
    for (const auto& [name, id] : model) {
        snapshot = snapshot->without({"w", name, "i"});
        EXPECT_EQ(id_in(*snapshot, name), "none");
        EXPECT_EQ(snapshot->rules({"w", name}), nullptr);
    }
    EXPECT_EQ(snapshot->size(), 0U);
}

TEST(Snapshot, AChangedCopyLeavesTheOriginalAsItIs) {
    std::vector<Override> overrides;
    for (int i = 0; i < 500; ++i)
        overrides.push_back(override_in("n" + std::to_string(i), "old"));
    const Snapshot before(std::move(overrides), 99);
    const auto after = before.with(override_in("n7", "new"))->without({"w", "n8", "i"});
    EXPECT_EQ(id_in(before, "n7"), "old");
    EXPECT_EQ(id_in(before, "n8"), "old");
    EXPECT_EQ(id_in(*after, "n7"), "new");
    EXPECT_EQ(id_in(*after, "n8"), "none");
    EXPECT_EQ(before.rules({"w", "n9"}), after->rules({"w", "n9"})) << "what stays is shared";
}

}  // namespace
}  // namespace sluice::overrides
