// An override, which is another limit for the identifiers that a pattern names, and the interface
// to the persistent storage of overrides.
#ifndef SLUICE_OVERRIDES_STORE_H_
#define SLUICE_OVERRIDES_STORE_H_

#include <sluice/result.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counter/limit_key.h"

namespace sluice::overrides {

struct NamespaceKey {
    std::string_view workspace;
    std::string_view name_space;
    friend bool operator==(const NamespaceKey&, const NamespaceKey&) = default;
};

// A different hash for each part, so that equal texts in both don't cancel out.
inline std::uint64_t hash_of(const NamespaceKey& key, const KeyHash& hash) {
    return hash(0, key.workspace) ^ hash(1, key.name_space);
}

// Names one override. The identifier is the pattern as it was set; in it, `*` stands for any run of
// bytes.
struct OverrideKey {
    std::string_view workspace;
    std::string_view name_space;
    std::string_view identifier;

    NamespaceKey namespace_key() const { return {workspace, name_space}; }
};

// The limit and the duration that an override sets. A limit of 0 is a ban.
struct LimitAndDuration {
    std::int64_t limit;                  // 0 to 2^53 - 1
    std::chrono::milliseconds duration;  // 1 second to 366 days
    friend bool operator==(const LimitAndDuration&, const LimitAndDuration&) = default;
};

struct Override {
    std::string workspace;
    std::string name_space;
    std::string identifier;
    std::string id;  // "rlor_..."; the same as long as the override exists, whatever it sets
    LimitAndDuration value;
    std::uint64_t order;  // grows with each override that is created: the lower one is the older

    friend bool operator==(const Override&, const Override&) = default;
    OverrideKey key() const { return {workspace, name_space, identifier}; }
};

// Every error of a store is kStoreFailed, or kStoreUnavailable where the same call may work later.
// The message names the store, what is wrong with it and what to do, and holds no secret.

// The version of a store counts the changes that any process made to it. A store of a single
// process may always return 0.
struct Contents {
    std::vector<Override> overrides;
    std::uint64_t version;  // the overrides are of this version or of a later one
};

struct Stored {
    Override entry;
    std::uint64_t version;  // after the change
};

struct Removed {
    bool found;
    std::uint64_t version;  // after the change; unspecified if nothing was found
};

// Who changes an override, and when.
struct Author {
    std::string token;  // its name in the settings; empty without tokens
    std::int64_t at;    // unix milliseconds, by the clock of the node
    friend bool operator==(const Author&, const Author&) = default;
};

// A change of an override, as it is kept.
struct Change {
    Author author;
    std::string workspace;
    std::string name_space;
    std::string identifier;
    std::string id;
    std::optional<LimitAndDuration> before;  // none: the override was created
    std::optional<LimitAndDuration> after;   // none: it was deleted
    std::uint64_t order;                     // grows with each change

    friend bool operator==(const Change&, const Change&) = default;
};

// Returns the record of a change of `entry` to `after`, with the order 0. `held` is what the store
// held before; its id is kept.
inline Change change_of(const Author& author,
                        const Override& entry,
                        const std::optional<Override>& held,
                        std::optional<LimitAndDuration> after) {
    return {.author = author,
            .workspace = entry.workspace,
            .name_space = entry.name_space,
            .identifier = entry.identifier,
            .id = held ? held->id : entry.id,
            .before = held ? std::optional(held->value) : std::nullopt,
            .after = after,
            .order = 0};
}

// Changes of a workspace, the newest first.
struct ChangeQuery {
    std::string workspace;
    std::string name_space;    // empty: all
    std::uint64_t before = 0;  // only changes with a lower order; 0: all
    std::size_t most = 10;
};

// A store keeps so many changes of each workspace, the newest ones.
inline constexpr std::size_t kMaxChangesKept = 1'000;

// A store holds at most one override for each key.
//
// Thread-compatible, but for interrupt(): OverrideSet calls it from one thread at a time. A call
// may block on a disk or a network, for a bounded time. After an error the store holds what it held
// before the call; one that becomes unavailable while it commits may have committed.
class OverrideStore {
  public:
    virtual ~OverrideStore() = default;

    virtual Result<std::uint64_t> version() = 0;
    virtual Result<Contents> load_all() = 0;

    // Adds the override, or replaces the value of the one with the same key. Returns the override
    // as it is stored, once it is safe from a crash: its id and order are those that it was first
    // stored with, and a shared store chooses the order itself.
    // Keeps the change along with it, unless there is no author.
    virtual Result<Stored> put(const Override& entry, const std::optional<Author>& author) = 0;

    // Removes the override if there is one. Keeps the change as put() does.
    virtual Result<Removed> remove(const OverrideKey& key, const std::optional<Author>& author) = 0;

    virtual Result<std::vector<Change>> changes(const ChangeQuery& query) = 0;

    // Ends the current call, and all later ones, soon. Any thread may call it.
    virtual void interrupt() {}
};

// Keeps changes, and overrides only for the values that a change replaces: OverrideSet holds them
// in memory itself, and load_all() returns none.
class MemoryStore final : public OverrideStore {
  public:
    Result<std::uint64_t> version() override { return 0; }
    Result<Contents> load_all() override { return Contents{}; }
    Result<Stored> put(const Override& entry, const std::optional<Author>& author) override;
    Result<Removed> remove(const OverrideKey& key, const std::optional<Author>& author) override;
    Result<std::vector<Change>> changes(const ChangeQuery& query) override;

  private:
    using Key = std::array<std::string, 3>;

    void keep(Change change);

    std::map<Key, Override> held_;
    std::map<std::string, std::deque<Change>> changes_;  // by workspace, the oldest first
    std::uint64_t next_order_ = 1;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_STORE_H_
