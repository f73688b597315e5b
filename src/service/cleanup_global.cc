#include "service/cleanup_global.h"

#include <string>
#include <variant>

namespace sluice {
namespace {

// Of one batch, where writers hold its rows.
constexpr int kTries = 5;

Error failed(const StoreFailure& failure, std::uint64_t deleted) {
    return {kStoreFailed,
            failure.why + "; " + std::to_string(deleted) + " rows were deleted before that"};
}

}  // namespace

// The batch that finds less than it may delete was the last one.
Result<CleanupOutcome> cleanup_global(GlobalStore& store, const Cleanup& cleanup) {
    std::uint64_t deleted = 0;
    for (int tries = 1;; ++tries) {
        const auto batch = store.delete_expired(kCleanupMargin, cleanup.batch);
        const auto* const failure = std::get_if<StoreFailure>(&batch);
        const bool is_busy = failure != nullptr && failure->kind == StoreFailure::Kind::kBusy;
        if (failure != nullptr && (!is_busy || tries == kTries)) return failed(*failure, deleted);
        if (failure == nullptr) {
            tries = 0;
            deleted += std::get<0>(batch);
            if (std::get<0>(batch) < cleanup.batch) return CleanupOutcome{deleted, true};
        }
        if (!cleanup.pause(deleted)) return CleanupOutcome{deleted, false};
    }
}

}  // namespace sluice
