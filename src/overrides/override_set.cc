#include "overrides/override_set.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/random.h"
#include "window/cell.h"
#include "window/sliding.h"

namespace sluice::overrides {
namespace {

constexpr std::size_t kMaxPartBytes = 2048;
static_assert(kMaxPartBytes <= Glob::kMaxBytes);
static_assert(kMaxPartBytes <= TextSearch::kMaxIdentifierBytes);
static_assert(kMaxInnerTextsPerNamespace <= TextSearch::kMaxTexts);

Error invalid(const std::string& what) {
    return {kInvalidRequest, what};
}

std::optional<Error> invalid_override(const OverrideKey& key, const LimitAndDuration& value) {
    for (const auto& [name, part] : {std::pair("workspace", key.workspace),
                                     std::pair("namespace", key.name_space),
                                     std::pair("identifier", key.identifier)})
        if (part.empty() || part.size() > kMaxPartBytes) {
            return invalid(std::string(name) + " is " + std::to_string(part.size()) +
                           " bytes long; allowed: 1 to " + std::to_string(kMaxPartBytes));
        }
    if (value.limit < 0 || static_cast<Count>(value.limit) > kMaxCount) {
        return invalid("limit is " + std::to_string(value.limit) + "; allowed: 0 to " +
                       std::to_string(kMaxCount));
    }
    if (value.duration < kMinDuration || value.duration > kMaxDuration) {
        return invalid("duration is " + std::to_string(value.duration.count()) +
                       " ms; allowed: " + std::to_string(kMinDuration.count()) + " to " +
                       std::to_string(kMaxDuration.count()) + " ms");
    }
    return std::nullopt;
}

// 120 random bits, five to a letter.
std::string new_id() {
    static constexpr std::string_view kLetters = "0123456789abcdefghjkmnpqrstvwxyz";
    std::string id = "rlor_";
    for (int half = 0; half < 2; ++half) {
        std::uint64_t bits = system_random();
        for (int i = 0; i < 12; ++i, bits >>= 5U) {
            id += kLetters[bits % kLetters.size()];
        }
    }
    return id;
}

// A cursor is a `c` and the order of the last override on the page before.
std::optional<std::uint64_t> order_of(std::string_view cursor) {
    if (cursor.empty()) return 0;
    if (!cursor.starts_with('c')) return std::nullopt;
    std::uint64_t order = 0;
    const char* const end = cursor.data() + cursor.size();
    const auto [stopped, error] = std::from_chars(cursor.data() + 1, end, order);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return order;
}

// A bound on what a namespace or workspace holds.
struct Bound {
    std::size_t Usage::*amount;
    std::size_t most;
    const char* what;
};

constexpr Bound kWorkspaceBounds[] = {
    {&Usage::overrides, kMaxPerWorkspace, "overrides"},
    {&Usage::inner_texts, kMaxInnerTextsPerWorkspace, "texts between two '*'"},
};
constexpr Bound kNamespaceBounds[] = {
    {&Usage::overrides, kMaxPerNamespace, "overrides"},
    {&Usage::patterns, kMaxPatternsPerNamespace, "overrides with a '*'"},
    {&Usage::pattern_bytes, kMaxPatternBytesPerNamespace, "bytes in patterns with a '*'"},
    {&Usage::searched, kMaxSearchedPerNamespace, "overrides with text between two '*'"},
    {&Usage::inner_texts, kMaxInnerTextsPerNamespace, "texts between two '*'"},
};

// The error if a workspace or namespace that holds so much has no room for more.
std::optional<Error> exceeded(const std::string& where,
                              std::span<const Bound> bounds,
                              const Usage& held,
                              const Usage& added) {
    for (const auto& [amount, most, what] : bounds) {
        if (added.*amount == 0 || held.*amount + added.*amount <= most) continue;
        return invalid("the " + where + " holds " + std::to_string(held.*amount) + " " + what +
                       ", and this override adds " + std::to_string(added.*amount) +
                       " more; allowed: up to " + std::to_string(most));
    }
    return std::nullopt;
}

}  // namespace

OverrideSet::OverrideSet(std::unique_ptr<OverrideStore> store, Writers writers)
    : store_(std::move(store)),
      writers_(writers),
      current_(std::make_shared<const Snapshot>(std::vector<Override>{}, system_random())) {}

OverrideSet::~OverrideSet() = default;

Result<std::unique_ptr<OverrideSet>> OverrideSet::open(std::unique_ptr<OverrideStore> store) {
    std::unique_ptr<OverrideSet> set(new OverrideSet(std::move(store), Writers::kThisNode));
    const MutexLock lock(set->writing_);
    if (auto error = set->load_changes()) return *std::move(error);
    return set;
}

Result<std::unique_ptr<OverrideSet>> OverrideSet::open_shared(std::unique_ptr<OverrideStore> store,
                                                              std::vector<Override> last_known) {
    std::unique_ptr<OverrideSet> set(new OverrideSet(std::move(store), Writers::kManyNodes));
    const MutexLock lock(set->writing_);
    if (auto error = set->replace_all(std::move(last_known))) return *std::move(error);
    return set;
}

// Replaces all overrides.
std::optional<Error> OverrideSet::replace_all(std::vector<Override> overrides) {
    std::ranges::sort(overrides, {}, &Override::order);
    std::unordered_map<std::string, Usage> per_workspace;
    for (const Override& entry : overrides) {
        if (const auto error = invalid_override(entry.key(), entry.value)) {
            return Error{kStoreFailed, "stored override " + entry.id + ": " + error->message};
        }
        per_workspace[entry.workspace] += usage_of(entry.identifier);
    }
    if (!overrides.empty()) next_order_ = overrides.back().order + 1;
    auto next = std::make_shared<const Snapshot>(std::move(overrides), system_random());
    per_workspace_ = std::move(per_workspace);
    current_.replace(std::move(next));
    return std::nullopt;
}

// Reloads on any other version, also on a lower one: the store may have been restored from a
// backup.
std::optional<Error> OverrideSet::load_changes() {
    if (loaded_version_) {
        const auto version = store_->version();
        if (!version) return version.error();
        if (*version == *loaded_version_) return std::nullopt;
    }
    auto contents = store_->load_all();
    if (!contents) return std::move(contents).error();
    if (auto error = replace_all(std::move(contents->overrides))) return error;
    loaded_version_ = contents->version;
    shown_version_.store(contents->version, std::memory_order_relaxed);
    return std::nullopt;
}

// After an error the version is forgotten: a store that comes back may be an older copy with the
// same version.
std::optional<Error> OverrideSet::reload() {
    const MutexLock lock(writing_);
    auto error = load_changes();
    if (error) loaded_version_.reset();
    return error;
}

// Our own change has made this version. If other nodes made changes in between, the next reload()
// reads them.
void OverrideSet::note_version(std::uint64_t version) {
    if (!loaded_version_ || version != *loaded_version_ + 1) return;
    loaded_version_ = version;
    shown_version_.store(version, std::memory_order_relaxed);
}

// Everything that can fail comes before the store is called, so that what it has stored is
// published.
Result<std::string> OverrideSet::set(const OverrideKey& key,
                                     const LimitAndDuration& value,
                                     const std::optional<Author>& author) {
    if (auto error = invalid_override(key, value)) return *std::move(error);
    const MutexLock lock(writing_);
    const auto now = current_.get();
    const Override* const held = now->find(key);
    if (held == nullptr) {
        if (auto error = no_room(key, now->rules(key.namespace_key()))) return *std::move(error);
    }
    const Override entry{.workspace = std::string(key.workspace),
                         .name_space = std::string(key.name_space),
                         .identifier = std::string(key.identifier),
                         .id = held == nullptr ? new_id() : held->id,
                         .value = value,
                         .order = held == nullptr ? next_order_ : held->order};
    auto next = now->with(entry);
    Usage& in_workspace = per_workspace_[entry.workspace];
    const Usage added = usage_of(entry.identifier);

    auto stored = store_->put(entry, author);
    if (!stored) return std::move(stored).error();
    // Another node has set it first, or the store chooses the order.
    if (stored->entry != entry) next = now->with(stored->entry);
    if (held == nullptr) {
        next_order_ = std::max(next_order_, stored->entry.order + 1);
        in_workspace += added;
    }
    current_.replace(std::move(next));
    note_version(stored->version);
    return stored->entry.id;
}

Result<std::vector<Change>> OverrideSet::changes(const ChangeQuery& query) {
    const MutexLock lock(writing_);
    return store_->changes(query);
}

Result<bool> OverrideSet::remove(const OverrideKey& key, const std::optional<Author>& author) {
    const MutexLock lock(writing_);
    const auto now = current_.get();
    const bool is_held = now->find(key) != nullptr;
    if (!is_held && writers_ == Writers::kThisNode) return false;
    auto next = is_held ? now->without(key) : nullptr;
    const Usage less = usage_of(key.identifier);

    const auto removed = store_->remove(key, author);
    if (!removed) return removed.error();
    if (is_held) {
        const auto workspace = per_workspace_.find(std::string(key.workspace));
        workspace->second -= less;
        if (workspace->second.overrides == 0) per_workspace_.erase(workspace);
        current_.replace(std::move(next));
    }
    if (removed->found) note_version(removed->version);
    return removed->found;
}

std::optional<Error> OverrideSet::no_room(const OverrideKey& key,
                                          const OverrideRules* rules) const {
    const Usage added = usage_of(key.identifier);
    const auto workspace = per_workspace_.find(std::string(key.workspace));
    const Usage in_workspace = workspace == per_workspace_.end() ? Usage{} : workspace->second;
    if (auto error = exceeded("workspace", kWorkspaceBounds, in_workspace, added)) return error;
    const Usage in_namespace = rules == nullptr ? Usage{} : rules->usage();
    return exceeded("namespace", kNamespaceBounds, in_namespace, added);
}

std::optional<Override> OverrideSet::get(const OverrideKey& key) const {
    const auto now = current_.get();
    const Override* const held = now->find(key);
    return held == nullptr ? std::nullopt : std::optional(*held);
}

bool OverrideSet::has(const NamespaceKey& key) const {
    return current_.get()->rules(key) != nullptr;
}

Result<Page> OverrideSet::list(const NamespaceKey& key, const PageRequest& request) const {
    const auto order = order_of(request.cursor);
    if (!order) return invalid("cursor is none that an earlier page carried");
    const auto now = current_.get();
    const OverrideRules* rules = now->rules(key);
    if (rules == nullptr) return Page{};
    const auto following = rules->after(*order);
    const auto shown = following.first(std::min(following.size(), request.limit));
    Page page;
    for (const OverrideRulePointer& rule : shown) {
        page.overrides.push_back(rule->entry);
    }
    if (shown.size() < following.size() && !shown.empty()) {
        page.cursor = "c" + std::to_string(shown.back()->entry.order);
    }
    return page;
}

}  // namespace sluice::overrides
