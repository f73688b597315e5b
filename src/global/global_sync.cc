#include "global/global_sync.h"

#include "global/store.h"

namespace sluice {
namespace {

// A key of fewer bytes has no long part.
constexpr std::size_t kLeastLong = kStoredWorkspaceBytes;

}  // namespace

GlobalSync::GlobalSync(Table& table, const Config& config, Time now)
    : table_(table),
      publish_queue_(config.policy),
      hashed_name_cells_(table, config.most_hashed_name_cells),
      publisher_(table,
                 publish_queue_,
                 publish_breaker_,
                 {.policy = config.policy, .interval = config.interval, .seed = config.seed},
                 now),
      importer_(
          table,
          publish_queue_,
          hashed_name_cells_,
          import_breaker_,
          {.interval = config.interval, .seed = ~config.seed, .page_rows = config.import_page_rows},
          now) {
    table_.watch_long_keys(kLeastLong, [this](Entry& entry) {
        if (hashed_name_cells_.add(entry)) publish_queue_.offer(entry);
    });
}

void GlobalSync::offer(Entry& entry) {
    publish_queue_.offer(entry);
}

void GlobalSync::offer_changes() {
    const ChangedList::Taken taken = table_.changed().take();
    for (Entry* entry : taken.retired)
        table_.dispose(*entry);
    for (Entry* entry : taken.changed) {
        const Components synced(*entry);
        offer(*entry);
        if (!table_.changed().release(*entry, synced)) table_.dispose(*entry);
    }
}

}  // namespace sluice
