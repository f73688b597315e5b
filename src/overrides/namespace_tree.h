// A map from namespaces to their rules that never changes: a changed copy shares all but one path.
#ifndef SLUICE_OVERRIDES_NAMESPACE_TREE_H_
#define SLUICE_OVERRIDES_NAMESPACE_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "overrides/override.h"
#include "overrides/rules.h"

namespace sluice::overrides {

// NamespaceTree is a hash trie: four bits of a namespace's hash choose the child at each level, and
// a leaf holds a few namespaces. Replacing one copies the nodes from the root to its leaf, whose
// number grows with the logarithm of the number of namespaces.
//
// Immutable but for assignment, hence thread-safe.
class NamespaceTree {
  public:
    explicit NamespaceTree(std::uint64_t hash_seed) : hash_seed_(hash_seed) {}

    // Null if the namespace has no rules.
    const Rules* find(const NamespaceKey& key) const;

    // With `rules` for the namespace of `key`, or without the namespace if they are null.
    NamespaceTree with(const NamespaceKey& key, std::shared_ptr<const Rules> rules) const;

  private:
    struct Held {
        std::uint64_t hash;
        std::shared_ptr<const Rules> rules;  // which know their namespace
    };
    struct Node;
    using NodePointer = std::shared_ptr<const Node>;  // null: nothing below
    struct Node {
        // One of them is empty: a leaf has no children.
        std::array<NodePointer, 16> children;
        std::vector<Held> held;
        bool is_leaf = true;
    };
    struct Change;

    static NodePointer changed(const Node* node, const Change& change, unsigned level);
    static NodePointer changed_leaf(const Node& leaf, const Change& change, unsigned level);
    static NodePointer split(const Node& leaf, unsigned level);

    std::uint64_t hash_seed_;
    NodePointer root_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_NAMESPACE_TREE_H_
