#include "cli/check_config.h"

#include <ostream>
#include <sstream>
#include <string>

#include "cli/tls_files.h"

namespace sluice::cli {

void print_problems(std::string_view command, const Error& error, std::ostream& err) {
    std::istringstream lines(error.message);
    for (std::string line; std::getline(lines, line);)
        err << "sluice " << command << ": " << line << "\n";
}

ExitCode run_check_config(const config::Sources& sources, std::ostream& out, std::ostream& err) {
    const auto loaded = config::load_settings(sources);
    if (!loaded) {
        print_problems("check-config", loaded.error(), err);
        return ExitCode::kError;
    }
    const config::TlsSettings& tls = loaded->settings.tls;
    if (tls.enabled()) {
        const auto context = http::TlsContext::load(tls_files(tls));
        if (!context) {
            print_problems("check-config", context.error(), err);
            return ExitCode::kError;
        }
    }
    for (const std::string& warning : loaded->warnings)
        err << "sluice check-config: warning: " << warning << "\n";
    out << config::describe(*loaded);
    return ExitCode::kOk;
}

}  // namespace sluice::cli
