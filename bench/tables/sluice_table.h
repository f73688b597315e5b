// Candidate: the library's own table, with all that an entry holds beside one counter.
#ifndef SLUICE_BENCH_TABLES_SLUICE_TABLE_H_
#define SLUICE_BENCH_TABLES_SLUICE_TABLE_H_

#include <memory>

#include "base/clock.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "tables/candidate.h"

namespace sluice::bench {

class SluiceTable {
  public:
    using Thread = NoThread;

    explicit SluiceTable(std::size_t max_keys)
        : table_(
              std::move(Table::create({.max_keys = max_keys, .sharing = Sharing::kAlone, .seed = 1})
                            .value())),
          now_(exact_wall_time()) {}

    void count(const Key& key) {
        const Request request{.workspace = kWorkspace,
                              .name_space = kNamespace,
                              .identifier = key.identifier(),
                              .duration = kDuration};
        const LimitKey limit_key = table_->key(request);
        const EpochPin pin;
        Instant at{};
        Entry& entry = table_->entry_for(limit_key, now_, at);
        const Sequence sequence = entry.locate(now_).sequence;
        entry.admitted(sequence).add(sequence, 1);
    }

  private:
    std::unique_ptr<Table> table_;
    const UnixTime now_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_SLUICE_TABLE_H_
