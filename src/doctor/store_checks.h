// Checks of what a server shares: Redis, the global database and NATS. Each adds what it found.
#ifndef SLUICE_DOCTOR_STORE_CHECKS_H_
#define SLUICE_DOCTOR_STORE_CHECKS_H_

#include "config/settings.h"
#include "doctor/findings.h"

namespace sluice::doctor {

// Requires that `origin` is set. Writes a key for a moment, and deletes it.
void check_redis(const config::Settings& settings, Findings& findings);

// `global` and `global_replica`, which may be SQLite. Writes no row.
void check_global(const config::Settings& settings, Findings& findings);

// Requires that `bus` is set. Publishes an empty greeting to each server.
void check_bus(const config::Settings& settings, Findings& findings);

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_STORE_CHECKS_H_
