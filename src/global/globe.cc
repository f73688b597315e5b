#include "global/globe.h"

#include "global/store.h"

namespace sluice {
namespace {

// A key of fewer bytes has no long part.
constexpr std::size_t kLeastLong = kStoredWorkspaceBytes;

}  // namespace

Globe::Globe(Table& table, const Config& config, Time now)
    : table_(table),
      offers_(config.policy),
      abridged_(table, config.most_abridged_cells),
      publisher_(table,
                 offers_,
                 publish_breaker_,
                 {.policy = config.policy, .interval = config.interval, .seed = config.seed},
                 now),
      importer_(
          table,
          offers_,
          abridged_,
          import_breaker_,
          {.interval = config.interval, .seed = ~config.seed, .page_rows = config.import_page_rows},
          now) {
    table_.watch_long_keys(kLeastLong, [this](Entry& entry) {
        if (abridged_.add(entry)) offers_.offer(entry);
    });
}

void Globe::offer(Entry& entry) {
    offers_.offer(entry);
}

void Globe::offer_changes() {
    const ChangedList::Taken taken = table_.changed().take();
    for (Entry* entry : taken.retired)
        table_.dispose(*entry);
    for (Entry* entry : taken.changed) {
        const Components told(*entry);
        offer(*entry);
        if (!table_.changed().release(*entry, told)) table_.dispose(*entry);
    }
}

}  // namespace sluice
