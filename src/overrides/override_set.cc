#include "overrides/override_set.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/random.h"
#include "overrides/glob.h"
#include "overrides/snapshot.h"
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

std::optional<Error> invalid_part(const std::string& name, std::string_view part) {
    if (!part.empty() && part.size() <= kMaxPartBytes) return std::nullopt;
    return invalid(name + " is " + std::to_string(part.size()) + " bytes long; allowed: 1 to " +
                   std::to_string(kMaxPartBytes));
}

std::optional<Error> invalid_grant(const Grant& grant) {
    if (grant.limit < 0 || static_cast<Count>(grant.limit) > kMaxCount) {
        return invalid("limit is " + std::to_string(grant.limit) + "; allowed: 0 to " +
                       std::to_string(kMaxCount));
    }
    if (grant.duration < kMinDuration || grant.duration > kMaxDuration) {
        return invalid("duration is " + std::to_string(grant.duration.count()) +
                       " ms; allowed: " + std::to_string(kMinDuration.count()) + " to " +
                       std::to_string(kMaxDuration.count()) + " ms");
    }
    return std::nullopt;
}

std::optional<Error> invalid_override(const OverrideKey& key, const Grant& grant) {
    if (auto error = invalid_part("workspace", key.workspace)) return error;
    if (auto error = invalid_part("namespace", key.name_space)) return error;
    if (auto error = invalid_part("identifier", key.identifier)) return error;
    return invalid_grant(grant);
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

// A cursor is the order of the last override on the page before.
std::string to_cursor(std::uint64_t order) {
    return "c" + std::to_string(order);
}

std::optional<std::uint64_t> order_of(std::string_view cursor) {
    if (cursor.empty()) return 0;
    if (!cursor.starts_with('c')) return std::nullopt;
    std::uint64_t order = 0;
    const char* const end = cursor.data() + cursor.size();
    const auto [stopped, error] = std::from_chars(cursor.data() + 1, end, order);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return order;
}

std::string full(const std::string& what, std::size_t most, const std::string& of) {
    return what + " holds " + std::to_string(most) + " overrides" + of +
           ", which is as many as it may; remove one first";
}

std::size_t inner_texts_of(std::string_view pattern) {
    return pattern.find('*') == std::string_view::npos ? 0 : Glob(pattern).inner().size();
}

struct Excess {
    std::string where;
    std::size_t had;
    std::size_t added;
    std::size_t most;
    std::string of;
};

std::string too_much(const Excess& excess) {
    return "the " + excess.where + " has " + std::to_string(excess.had) + " " + excess.of +
           ", and this override has " + std::to_string(excess.added) + " more; allowed: up to " +
           std::to_string(excess.most);
}

}  // namespace

OverrideSet::OverrideSet(std::unique_ptr<OverrideStore> store, Sharing sharing)
    : store_(std::move(store)),
      sharing_(sharing),
      empty_(std::make_shared<const Snapshot>(system_random())) {}

OverrideSet::~OverrideSet() = default;

Result<std::unique_ptr<OverrideSet>> OverrideSet::open(std::unique_ptr<OverrideStore> store) {
    std::unique_ptr<OverrideSet> set(new OverrideSet(std::move(store), Sharing::kAlone));
    const MutexLock lock(set->writing_);
    if (auto error = set->take_changes()) return *std::move(error);
    return set;
}

Result<std::unique_ptr<OverrideSet>> OverrideSet::open_shared(std::unique_ptr<OverrideStore> store,
                                                              std::vector<Override> last_known) {
    std::unique_ptr<OverrideSet> set(new OverrideSet(std::move(store), Sharing::kShared));
    const MutexLock lock(set->writing_);
    if (auto error = set->take(std::move(last_known))) return *std::move(error);
    return set;
}

// Holds these and no others.
std::optional<Error> OverrideSet::take(std::vector<Override> overrides) {
    std::ranges::sort(overrides, {}, &Override::order);
    std::unordered_map<std::string, Usage> per_workspace;
    for (const Override& entry : overrides) {
        if (const auto error = invalid_override(entry.key(), entry.grant)) {
            return Error{kStoreFailed, "stored override " + entry.id + ": " + error->message};
        }
        Usage& usage = per_workspace[entry.workspace];
        ++usage.overrides;
        usage.inner_texts += inner_texts_of(entry.identifier);
    }
    if (!overrides.empty()) next_order_ = overrides.back().order + 1;
    auto next = std::make_shared<const Snapshot>(std::move(overrides), system_random());
    per_workspace_ = std::move(per_workspace);
    publish(std::move(next));
    return std::nullopt;
}

// Any other version is news, also a lower one: the store may have been restored from a backup.
std::optional<Error> OverrideSet::take_changes() {
    if (seen_) {
        const auto version = store_->version();
        if (!version) return version.error();
        if (*version == *seen_) return std::nullopt;
    }
    auto contents = store_->load_all();
    if (!contents) return std::move(contents).error();
    if (auto error = take(std::move(contents->overrides))) return error;
    seen_ = contents->version;
    return std::nullopt;
}

// A store that was unavailable may come back with another past, and the same number.
std::optional<Error> OverrideSet::reload() {
    const MutexLock lock(writing_);
    auto error = take_changes();
    if (error) seen_.reset();
    return error;
}

// A change of ours has made this version. If others made one in between, that is still to be heard.
void OverrideSet::made(std::uint64_t version) {
    if (seen_ && version == *seen_ + 1) seen_ = version;
}

// What can fail comes before the store is asked, so that what it has taken is published.
Result<std::string> OverrideSet::set(const OverrideKey& key, const Grant& grant) {
    if (auto error = invalid_override(key, grant)) return *std::move(error);
    const MutexLock lock(writing_);
    const auto now = current();
    const Rules* rules = now->rules(key.namespace_key());
    const Override* held = rules == nullptr ? nullptr : rules->find(key.identifier);
    if (held == nullptr) {
        if (auto error = no_room(key, rules)) return *std::move(error);
    }
    const Override entry{.workspace = std::string(key.workspace),
                         .name_space = std::string(key.name_space),
                         .identifier = std::string(key.identifier),
                         .id = held == nullptr ? new_id() : held->id,
                         .grant = grant,
                         .order = held == nullptr ? next_order_ : held->order};
    auto next = now->with(entry);
    Usage& in_workspace = per_workspace_[entry.workspace];
    const std::size_t inner_texts = inner_texts_of(entry.identifier);

    auto stored = store_->put(entry);
    if (!stored) return std::move(stored).error();
    // Another node was first, or the store gives its own orders.
    if (stored->entry != entry) next = now->with(stored->entry);
    if (held == nullptr) {
        next_order_ = std::max(next_order_, stored->entry.order + 1);
        ++in_workspace.overrides;
        in_workspace.inner_texts += inner_texts;
    }
    publish(std::move(next));
    made(stored->version);
    return stored->entry.id;
}

Result<bool> OverrideSet::remove(const OverrideKey& key) {
    const MutexLock lock(writing_);
    const auto now = current();
    const Rules* rules = now->rules(key.namespace_key());
    const bool is_held = rules != nullptr && rules->find(key.identifier) != nullptr;
    if (!is_held && sharing_ == Sharing::kAlone) return false;
    auto next = is_held ? now->without(key) : nullptr;
    const std::size_t inner_texts = inner_texts_of(key.identifier);

    const auto removed = store_->remove(key);
    if (!removed) return removed.error();
    if (is_held) {
        const auto workspace = per_workspace_.find(std::string(key.workspace));
        workspace->second.inner_texts -= inner_texts;
        if (--workspace->second.overrides == 0) per_workspace_.erase(workspace);
        publish(std::move(next));
    }
    if (removed->found) made(removed->version);
    return removed->found;
}

std::optional<Error> OverrideSet::no_room(const OverrideKey& key, const Rules* rules) const {
    const auto workspace = per_workspace_.find(std::string(key.workspace));
    const Usage usage = workspace == per_workspace_.end() ? Usage{} : workspace->second;
    if (usage.overrides >= kMaxPerWorkspace) {
        return invalid(full("the workspace", kMaxPerWorkspace, ""));
    }
    if (rules != nullptr && rules->in_order().size() >= kMaxPerNamespace) {
        return invalid(full("the namespace", kMaxPerNamespace, ""));
    }
    return no_room_for_pattern(key, rules, usage.inner_texts);
}

std::optional<Error> OverrideSet::no_room_for_pattern(const OverrideKey& key,
                                                      const Rules* rules,
                                                      std::size_t texts_in_workspace) {
    const Glob glob(key.identifier);
    if (glob.is_exact()) return std::nullopt;
    if (rules != nullptr && rules->patterns() >= kMaxPatternsPerNamespace) {
        return invalid(full("the namespace", kMaxPatternsPerNamespace, " with a '*'"));
    }
    const std::size_t bytes = rules == nullptr ? 0 : rules->pattern_bytes();
    if (bytes + key.identifier.size() > kMaxPatternBytesPerNamespace) {
        return invalid(too_much({.where = "namespace",
                                 .had = bytes,
                                 .added = key.identifier.size(),
                                 .most = kMaxPatternBytesPerNamespace,
                                 .of = "bytes in patterns with a '*'"}));
    }
    if (glob.inner().empty()) return std::nullopt;
    if (rules != nullptr && rules->searched() >= kMaxSearchedPerNamespace) {
        return invalid(
            full("the namespace", kMaxSearchedPerNamespace, " with text between two '*'"));
    }
    const std::size_t texts = rules == nullptr ? 0 : rules->inner_texts();
    if (texts + glob.inner().size() > kMaxInnerTextsPerNamespace) {
        return invalid(too_much({.where = "namespace",
                                 .had = texts,
                                 .added = glob.inner().size(),
                                 .most = kMaxInnerTextsPerNamespace,
                                 .of = "texts between two '*'"}));
    }
    if (texts_in_workspace + glob.inner().size() > kMaxInnerTextsPerWorkspace) {
        return invalid(too_much({.where = "workspace",
                                 .had = texts_in_workspace,
                                 .added = glob.inner().size(),
                                 .most = kMaxInnerTextsPerWorkspace,
                                 .of = "texts between two '*'"}));
    }
    return std::nullopt;
}

std::optional<Override> OverrideSet::get(const OverrideKey& key) const {
    const auto now = current();
    const Rules* rules = now->rules(key.namespace_key());
    const Override* held = rules == nullptr ? nullptr : rules->find(key.identifier);
    if (held == nullptr) return std::nullopt;
    return *held;
}

bool OverrideSet::has(const NamespaceKey& key) const {
    return current()->rules(key) != nullptr;
}

Result<Page> OverrideSet::list(const NamespaceKey& key, const PageRequest& request) const {
    const auto order = order_of(request.cursor);
    if (!order) return invalid("cursor is none that an earlier page carried");
    const auto now = current();
    const Rules* rules = now->rules(key);
    if (rules == nullptr) return Page{};
    const auto rest = rules->after(*order);
    const auto shown = rest.first(std::min(rest.size(), request.limit));
    Page page;
    for (const RulePointer& rule : shown) {
        page.overrides.push_back(rule->entry);
    }
    if (shown.size() < rest.size() && !shown.empty()) {
        page.cursor = to_cursor(shown.back()->entry.order);
    }
    return page;
}

std::shared_ptr<const Snapshot> OverrideSet::current() const {
    const MutexLock lock(pointing_);
    return current_ == nullptr ? empty_ : current_;
}

void OverrideSet::publish(std::shared_ptr<const Snapshot> next) {
    size_.store(next->size(), std::memory_order_relaxed);
    if (next->size() == 0) next = nullptr;
    const MutexLock lock(pointing_);
    current_.swap(next);
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// What this reader held before may be the last of its kind; it is freed after the lock.
void Reader::fetch() {
    std::shared_ptr<const Snapshot> before = std::move(snapshot_);
    const MutexLock lock(set_->pointing_);
    snapshot_ = set_->current_;
    version_ = set_->version_.load(std::memory_order_relaxed);
    if (snapshot_ != nullptr) marks_ = snapshot_->marks();
}

const Override* Reader::find(const OverrideKey& key) const {
    const Rules* rules = snapshot_->rules(key.namespace_key());
    return rules == nullptr ? nullptr : rules->match(key.identifier);
}

}  // namespace sluice::overrides
