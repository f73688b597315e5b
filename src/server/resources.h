// Opens what the settings of a server name: the data directory, the limiter with its stores, the
// overrides and the TLS files. Errors name the setting, its value and the reason.
#ifndef SLUICE_SERVER_RESOURCES_H_
#define SLUICE_SERVER_RESOURCES_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <memory>
#include <string>

#include "base/thread.h"
#include "config/settings.h"
#include "http/wire/tls.h"
#include "log/log.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"
#include "trace/tracer.h"

namespace sluice::server {

// "listen is "127.0.0.1:80": permission denied"; `value` is quoted by the caller where it is text.
Error setting_error(const char* setting, const std::string& value, const std::string& why);

// Creates the data directory if it is missing, with mode 700 whatever the umask; logs a warning if
// other users may enter an existing one. Then opens the limiter with its origin and global store.
// Changes of their state are logged. `log` must outlive the limiter.
Result<Limiter> open_limiter(const config::Settings& settings,
                             Log& log,
                             OnThreadFailure on_failure);

// Opens the override store: the global store if there is one, otherwise a file in the data
// directory, otherwise memory. With a global store, the data directory keeps a copy of the last
// known overrides. An unavailable global store is not an error. `log` must outlive the set.
Result<std::unique_ptr<overrides::OverrideSet>> open_overrides(const config::Settings& settings,
                                                               Log& log);

// Starts the thread that writes changes to the override store and polls it for those of other
// nodes. It logs when the store becomes unavailable and when it recovers. `set` and `log` must
// outlive the returned object.
std::unique_ptr<overrides::OverrideChanges> start_override_changes(const config::Settings& settings,
                                                                   overrides::OverrideSet& set,
                                                                   Log& log,
                                                                   OnThreadFailure on_failure);

// Starts the tracer that `trace.endpoint` asks for. It logs when the collector stops taking spans
// and when it takes them again. `log` must outlive the tracer.
Result<std::unique_ptr<trace::Tracer>> start_tracer(const config::Settings& settings,
                                                    Log& log,
                                                    OnThreadFailure on_failure);

// Loads the certificate, its key and the client authorities.
Result<std::shared_ptr<const http::TlsContext>> load_tls(const config::TlsSettings& tls);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RESOURCES_H_
