// What the program tells a shell when it ends.
#ifndef SLUICE_CLI_EXIT_CODE_H_
#define SLUICE_CLI_EXIT_CODE_H_

namespace sluice::cli {

enum class ExitCode {
    kOk = 0,      // done; for `limit`, the request passed
    kDenied = 1,  // `limit`: the request was denied; `bench`: some requests failed
    kError = 2,   // wrong use, a bad setting, or no answer
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_EXIT_CODE_H_
