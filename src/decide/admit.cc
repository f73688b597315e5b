#include "decide/admit.h"

namespace sluice {

std::optional<UnixTime> retry_at(const Entry& entry, Instant at, Ask ask) {
    const Held held{entry.spent(at.sequence - 1),
                    entry.spent(at.sequence),
                    entry.spent(at.sequence + 1),
                    entry.spent(at.sequence + 2)};
    return first_pass(held, at, entry.duration(), ask);
}

}  // namespace sluice
