// Processes and folders of a test: the built `sluice` program, other servers, temporary files.
#ifndef SLUICE_TESTS_SUPPORT_PROCESS_H_
#define SLUICE_TESTS_SUPPORT_PROCESS_H_

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace sluice::server_test {

// A temporary folder, removed with this object. Owned by one thread.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    // The path of a file in this folder, which need not exist.
    std::string path(std::string_view name) const { return (folder_ / name).string(); }

    // Writes a file atomically and returns its path.
    std::string write(std::string_view name, std::string_view content) const;

  private:
    std::filesystem::path folder_;
};

// All bytes of a file; empty if there is none.
std::string read_file(const std::string& path);

// Long enough for a loaded machine with sanitizers; a test that passes never waits for it.
inline constexpr std::chrono::seconds kTimeout{30};

// How a process ended.
struct Ending {
    int exit_code;    // -1 if a signal ended it
    int signal;       // 0 if none did
    std::string out;  // what it wrote to standard output
    std::string err;  // what it wrote to standard error
};

// Targets of the program's streams; -1: a file that output() reads.
struct Streams {
    int out = -1;
    int err = -1;
};

// One run of the program, without the SLUICE_ variables of this process. Killed with this object.
// Owned by one thread.
class Program {
  public:
    explicit Program(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = {},
                     Streams streams = {});
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    void signal(int number) const;

    // Stops the process with SIGSTOP and waits until all its threads have stopped. SIGCONT resumes
    // it.
    void pause() const;

    bool running();

    // Waits for the end of the process; throws if that does not come within `timeout`.
    Ending wait(std::chrono::milliseconds timeout = kTimeout);

    // What it has written so far, to both streams.
    std::string output() const;

  private:
    bool reap(int options);

    ScratchFolder scratch_;
    pid_t pid_ = -1;
    std::optional<int> status_;  // from waitpid
};

// Runs the program to its end.
Ending run(const std::vector<std::string>& arguments,
           const std::vector<std::string>& environment = {});

// Another server, such as Redis, as a process. Killed with this object, or with the test. Owned by
// one thread.
class PeerProcess {
  public:
    PeerProcess() = default;
    ~PeerProcess() { kill(); }
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    // Runs a command and appends its output to the file `log`. Requires that none runs.
    void start(std::vector<std::string> words, const std::string& log);
    // Kills it and waits for its end. Does nothing if none runs.
    void kill();
    // Whether it has ended by itself.
    bool has_ended();

    // Stops it with SIGSTOP and waits until it has stopped.
    void pause() const;
    void resume() const;

  private:
    pid_t pid_ = -1;
};

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SUPPORT_PROCESS_H_
