// The built `sluice` program as a process.
#ifndef SLUICE_TESTS_SERVER_PROGRAM_H_
#define SLUICE_TESTS_SERVER_PROGRAM_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "server/scratch_folder.h"

namespace sluice::server_test {

// Long enough for a loaded machine with sanitizers; a test that passes never waits for it.
inline constexpr std::chrono::seconds kPatience{30};

// How a process ended.
struct Ending {
    int exit_code;    // -1 if a signal ended it
    int signal;       // 0 if none did
    std::string out;  // what it wrote to standard output
    std::string err;  // what it wrote to standard error
};

// Where the program's streams go; -1 stands for a file that output() reads.
struct Streams {
    int out = -1;
    int err = -1;
};

// One run of the program; SIGKILL ends it with this object at the latest. None of the SLUICE_
// variables of this process reach it. Owned by one thread.
class Program {
  public:
    explicit Program(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = {},
                     Streams streams = {});
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    void signal(int number) const;

    // Stops the process with SIGSTOP and waits until every thread of it stands still: the signal
    // alone says nothing of when that is. SIGCONT lets it go on.
    void pause() const;

    bool running();

    // Waits for the end of the process; throws if that does not come within `patience`.
    Ending wait(std::chrono::milliseconds patience = kPatience);

    // What it has written so far, to both streams.
    std::string output() const;

  private:
    bool reap(int options);

    ScratchFolder scratch_;
    pid_t pid_ = -1;
    std::optional<int> status_;  // as waitpid told it
};

// Runs the program to its end.
Ending run(const std::vector<std::string>& arguments,
           const std::vector<std::string>& environment = {});

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_PROGRAM_H_
