// A server of somebody else's, as a process of a test's own.
#ifndef SLUICE_TESTS_SERVER_PEER_PROCESS_H_
#define SLUICE_TESTS_SERVER_PEER_PROCESS_H_

#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice::server_test {

// SIGKILL ends it with this object, or with the test, at the latest. Owned by one thread.
class PeerProcess {
  public:
    PeerProcess() = default;
    ~PeerProcess() { kill(); }
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    // Runs these words; what it prints is appended to the file `log`. Not while it runs already.
    void start(std::vector<std::string> words, const std::string& log);
    // Ends it, as a crash would, and waits for that. Harmless where nothing runs.
    void kill();
    // Whether it has ended by itself.
    bool has_ended();

    // Stops it by SIGSTOP and waits until it stands still.
    void pause() const;
    void resume() const;

  private:
    pid_t pid_ = -1;
};

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_PEER_PROCESS_H_
