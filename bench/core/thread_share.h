// The start of a benchmark thread: its core and its share of the keys.
#ifndef SLUICE_BENCH_CORE_THREAD_SHARE_H_
#define SLUICE_BENCH_CORE_THREAD_SHARE_H_

#include <map>
#include <memory>
#include <mutex>

#include <benchmark/benchmark.h>

#include "core/report.h"
#include "measure/keys.h"
#include "measure/process.h"

namespace sluice::bench {

// The keys of the thread that calls: all of them where there is one thread, its own part where
// there are more, the one hot key where there is only one key.
inline std::vector<Key> begin_thread(const std::string& name, const benchmark::State& state) {
    pin_to_core(static_cast<std::size_t>(state.thread_index()));
    if (state.thread_index() == 0) {
        show_progress(name + ("/keys:" + std::to_string(state.range(0))));
    }
    return random_order({.count = static_cast<std::uint32_t>(state.range(0)),
                         .index = static_cast<std::uint32_t>(state.thread_index()),
                         .of = static_cast<std::uint32_t>(state.threads())});
}

// One subject per number of keys, made on first use and kept for all repetitions.
// Thread-safe.
template <class Subject>
class PerKeyCount {
  public:
    template <class Make>
    Subject& get(std::int64_t keys, Make make) {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Subject>& subject = subjects_[keys];
        if (!subject) subject = std::make_unique<Subject>(make());
        return *subject;
    }

  private:
    std::mutex mutex_;
    std::map<std::int64_t, std::unique_ptr<Subject>> subjects_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_THREAD_SHARE_H_
