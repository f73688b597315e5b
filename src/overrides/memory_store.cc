#include <algorithm>
#include <utility>

#include "overrides/store.h"

namespace sluice::overrides {

Result<Stored> MemoryStore::put(const Override& entry, const std::optional<Author>& author) {
    const Key key{entry.workspace, entry.name_space, entry.identifier};
    const auto held = held_.find(key);
    if (author) {
        const auto before = held == held_.end() ? std::nullopt : std::optional(held->second);
        keep(change_of(*author, entry, before, entry.value));
    }
    held_.insert_or_assign(key, entry);
    return Stored{entry, 0};
}

Result<Removed> MemoryStore::remove(const OverrideKey& key, const std::optional<Author>& author) {
    const auto held = held_.extract(
        {std::string(key.workspace), std::string(key.name_space), std::string(key.identifier)});
    if (!held.empty() && author)
        keep(change_of(*author, held.mapped(), held.mapped(), std::nullopt));
    return Removed{true, 0};
}

void MemoryStore::keep(Change change) {
    change.order = next_order_++;
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
