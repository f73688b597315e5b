#include "overrides/copied_store.h"

namespace sluice::overrides {

Result<Contents> CopiedStore::load_all() {
    auto contents = options_.shared->load_all();
    if (!contents) return contents;
    if (const auto error = options_.copy->replace_all(contents->overrides))
        options_.on_failure(*error);
    return contents;
}

// Another node may have removed the override and set it anew: then its id and order are others, and
// those of the copy must not stay.
Result<Stored> CopiedStore::put(const Override& entry) {
    auto stored = options_.shared->put(entry);
    if (!stored) return stored;
    if (const auto removed = options_.copy->remove(entry.key()); !removed)
        options_.on_failure(removed.error());
    if (const auto copied = options_.copy->put(stored->entry); !copied)
        options_.on_failure(copied.error());
    return stored;
}

Result<Removed> CopiedStore::remove(const OverrideKey& key) {
    auto removed = options_.shared->remove(key);
    if (!removed) return removed;
    if (const auto copied = options_.copy->remove(key); !copied)
        options_.on_failure(copied.error());
    return removed;
}

}  // namespace sluice::overrides
