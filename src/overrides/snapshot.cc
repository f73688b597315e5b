#include "overrides/snapshot.h"

#include <unordered_map>
#include <utility>

#include "overrides/text_hash.h"

namespace sluice::overrides {

Snapshot::Snapshot(std::uint64_t hash_seed) : hash_seed_(hash_seed), by_namespace_(hash_seed) {}

Snapshot::Snapshot(std::vector<Override> overrides, std::uint64_t hash_seed) : Snapshot(hash_seed) {
    size_ = overrides.size();
    const auto hash = [hash_seed](const NamespaceKey& key) { return hash_of(key, hash_seed); };
    std::unordered_map<NamespaceKey, std::vector<RulePointer>, decltype(hash)> grouped(0, hash);
    for (Override& entry : overrides) {
        auto rule = std::make_shared<const Rule>(std::move(entry));
        grouped[rule->entry.key().namespace_key()].push_back(rule);
    }
    for (auto& [key, rules] : grouped) {
        replace(key, std::make_shared<const Rules>(std::move(rules), hash_seed_));
    }
}

const Rules* Snapshot::rules(const NamespaceKey& key) const {
    return by_namespace_.find(key);
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

void Snapshot::replace(const NamespaceKey& key, std::shared_ptr<const Rules> next) {
    const std::size_t mark = NamespaceMarks::mark_of(key.workspace, key.name_space);
    if (rules(key) != nullptr) --sharing_mark_[mark];
    if (next != nullptr) ++sharing_mark_[mark];
    marks_.set(mark, sharing_mark_[mark] > 0);
    by_namespace_ = by_namespace_.with(key, std::move(next));
}

}  // namespace sluice::overrides
