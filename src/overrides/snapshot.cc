#include "overrides/snapshot.h"

#include <utility>

namespace sluice::overrides {
namespace {

NamespaceKey key_of(const Rules& rules) {
    return rules.in_order().front()->entry.key().namespace_key();
}

}  // namespace

std::size_t Snapshot::KeyHash::operator()(const NamespaceKey& key) const {
    // A seed for each part, so that equal texts in both don't cancel out.
    return TextHash{seed}(key.workspace) ^ TextHash { seed + 1 }(key.name_space);
}

Snapshot::Snapshot(std::uint64_t hash_seed)
    : hash_seed_(hash_seed), by_namespace_(0, KeyHash{hash_seed}) {}

Snapshot::Snapshot(std::vector<Override> overrides, std::uint64_t hash_seed) : Snapshot(hash_seed) {
    size_ = overrides.size();
    std::unordered_map<NamespaceKey, std::vector<RulePointer>, KeyHash> grouped(0,
                                                                                KeyHash{hash_seed});
    for (Override& entry : overrides) {
        auto rule = std::make_shared<const Rule>(std::move(entry));
        grouped[rule->entry.key().namespace_key()].push_back(rule);
    }
    for (auto& [key, rules] : grouped) {
        replace(key, std::make_shared<const Rules>(std::move(rules), hash_seed_));
    }
}

const Rules* Snapshot::rules(const NamespaceKey& key) const {
    const auto found = by_namespace_.find(key);
    return found == by_namespace_.end() ? nullptr : found->second.get();
}

std::shared_ptr<const Snapshot> Snapshot::with(Override entry) const {
    auto next = std::make_shared<Snapshot>(*this);
    auto rule = std::make_shared<const Rule>(std::move(entry));
    const NamespaceKey key = rule->entry.key().namespace_key();
    const Rules* held = rules(key);
    const bool is_new = held == nullptr || held->find(rule->entry.identifier) == nullptr;
    next->size_ += is_new ? 1 : 0;
    next->replace(key,
                  held != nullptr ? held->with(rule)
                                  : std::make_shared<const Rules>(std::vector{rule}, hash_seed_));
    return next;
}

std::shared_ptr<const Snapshot> Snapshot::without(const OverrideKey& key) const {
    auto next = std::make_shared<Snapshot>(*this);
    next->size_ -= 1;
    next->replace(key.namespace_key(), rules(key.namespace_key())->without(key.identifier));
    return next;
}

// The old entry goes as a whole: its key lies in rules that it may be the last to hold.
void Snapshot::replace(const NamespaceKey& key, std::shared_ptr<const Rules> next) {
    by_namespace_.erase(key);
    if (next != nullptr) {
        marks_.set(key.workspace, key.name_space);
        by_namespace_.emplace(key_of(*next), std::move(next));
        return;
    }
    marks_ = {};
    for (const auto& [held, rules] : by_namespace_) {
        marks_.set(held.workspace, held.name_space);
    }
}

}  // namespace sluice::overrides
