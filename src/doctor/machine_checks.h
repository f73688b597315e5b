// Checks of the machine that a server is to run on: files, limits and addresses.
#ifndef SLUICE_DOCTOR_MACHINE_CHECKS_H_
#define SLUICE_DOCTOR_MACHINE_CHECKS_H_

#include "config/settings.h"
#include "doctor/findings.h"

namespace sluice::doctor {

// The limit of open files, and whether it is enough for http.max_connections.
void check_files(const config::Settings& settings, Findings& findings);

// The addresses must be free, or be those of a server that runs already.
void check_addresses(const config::Settings& settings, Findings& findings);

// Requires that `data_dir` is set. Writes a file there for a moment, if the folder exists.
void check_data_dir(const config::Settings& settings, Findings& findings);

// Requires that `tls.cert` is set.
void check_tls(const config::Settings& settings, Findings& findings);

// Requires that `rules` is set.
void check_rules(const config::Settings& settings, Findings& findings);

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_MACHINE_CHECKS_H_
