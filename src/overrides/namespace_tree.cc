#include "overrides/namespace_tree.h"

#include <algorithm>
#include <utility>

#include "overrides/text_hash.h"

namespace sluice::overrides {
namespace {

constexpr std::size_t kMostInLeaf = 8;
constexpr unsigned kBitsPerLevel = 4;
constexpr unsigned kLevels = 64 / kBitsPerLevel;

std::size_t child_of(std::uint64_t hash, unsigned level) {
    return hash >> (kBitsPerLevel * level) & ((1U << kBitsPerLevel) - 1);
}

NamespaceKey key_of(const Rules& rules) {
    return rules.in_order().front()->entry.key().namespace_key();
}

}  // namespace

struct NamespaceTree::Change {
    std::uint64_t hash;
    NamespaceKey key;
    std::shared_ptr<const Rules> rules;  // null: remove
};

const Rules* NamespaceTree::find(const NamespaceKey& key) const {
    const std::uint64_t hash = hash_of(key, hash_seed_);
    const Node* node = root_.get();
    for (unsigned level = 0; node != nullptr && !node->is_leaf; ++level)
        node = node->children[child_of(hash, level)].get();
    if (node == nullptr) return nullptr;
    for (const Held& held : node->held) {
        if (held.hash == hash && key_of(*held.rules) == key) return held.rules.get();
    }
    return nullptr;
}

NamespaceTree NamespaceTree::with(const NamespaceKey& key,
                                  std::shared_ptr<const Rules> rules) const {
    NamespaceTree next(hash_seed_);
    next.root_ = changed(root_.get(), {hash_of(key, hash_seed_), key, std::move(rules)}, 0);
    return next;
}

// A branch whose last child goes, goes as well.
NamespaceTree::NodePointer NamespaceTree::changed(const Node* node,
                                                  const Change& change,
                                                  unsigned level) {
    if (node == nullptr || node->is_leaf)
        return changed_leaf(node == nullptr ? Node{} : *node, change, level);
    auto copy = std::make_shared<Node>(*node);
    NodePointer& child = copy->children[child_of(change.hash, level)];
    child = changed(child.get(), change, level + 1);
    const auto is_null = [](const NodePointer& pointer) { return pointer == nullptr; };
    if (std::ranges::all_of(copy->children, is_null)) return nullptr;
    return copy;
}

NamespaceTree::NodePointer NamespaceTree::changed_leaf(const Node& leaf,
                                                       const Change& change,
                                                       unsigned level) {
    auto copy = std::make_shared<Node>(leaf);
    std::erase_if(copy->held, [&](const Held& held) {
        return held.hash == change.hash && key_of(*held.rules) == change.key;
    });
    if (change.rules != nullptr) copy->held.push_back({change.hash, change.rules});
    if (copy->held.empty()) return nullptr;
    if (copy->held.size() > kMostInLeaf && level < kLevels) return split(*copy, level);
    return copy;
}

// Hands what a leaf holds to the children of a branch in its place.
NamespaceTree::NodePointer NamespaceTree::split(const Node& leaf, unsigned level) {
    auto branch = std::make_shared<Node>();
    branch->is_leaf = false;
    std::array<std::shared_ptr<Node>, 16> leaves;
    for (const Held& held : leaf.held) {
        auto& child = leaves[child_of(held.hash, level)];
        if (child == nullptr) child = std::make_shared<Node>();
        child->held.push_back(held);
    }
    std::ranges::copy(leaves, branch->children.begin());
    return branch;
}

}  // namespace sluice::overrides
