#include <algorithm>
#include <utility>

#include "overrides/store.h"

namespace sluice::overrides {

Result<Stored> MemoryStore::put(const Override& entry, const std::optional<Author>& author) {
    const auto [held, is_new] =
        held_.insert({{entry.workspace, entry.name_space, entry.identifier}, {entry.id, {}}});
    const std::optional<LimitAndDuration> before =
        is_new ? std::nullopt : std::optional(held->second.value);
    held->second = {entry.id, entry.value};
    if (author) {
        keep({.author = *author,
              .workspace = entry.workspace,
              .name_space = entry.name_space,
              .identifier = entry.identifier,
              .id = entry.id,
              .before = before,
              .after = entry.value,
              .order = next_order_++});
    }
    return Stored{entry, 0};
}

Result<Removed> MemoryStore::remove(const OverrideKey& key, const std::optional<Author>& author) {
    const auto held = held_.find(
        {std::string(key.workspace), std::string(key.name_space), std::string(key.identifier)});
    if (held == held_.end()) return Removed{true, 0};
    if (author) {
        keep({.author = *author,
              .workspace = std::string(key.workspace),
              .name_space = std::string(key.name_space),
              .identifier = std::string(key.identifier),
              .id = held->second.id,
              .before = held->second.value,
              .after = std::nullopt,
              .order = next_order_++});
    }
    held_.erase(held);
    return Removed{true, 0};
}

void MemoryStore::keep(Change change) {
    std::deque<Change>& kept = changes_[change.workspace];
    kept.push_back(std::move(change));
    if (kept.size() > kMaxChangesKept) kept.pop_front();
}

Result<std::vector<Change>> MemoryStore::changes(const ChangeQuery& query) {
    std::vector<Change> found;
    const auto kept = changes_.find(query.workspace);
    if (kept == changes_.end()) return found;
    for (auto change = kept->second.rbegin();
         change != kept->second.rend() && found.size() < query.most;
         ++change) {
        const bool is_older = query.before == 0 || change->order < query.before;
        const bool is_inside = query.name_space.empty() || change->name_space == query.name_space;
        if (is_older && is_inside) found.push_back(*change);
    }
    return found;
}

}  // namespace sluice::overrides
