// Notices that rule files have changed.
#ifndef SLUICE_RLS_RULE_WATCH_H_
#define SLUICE_RLS_RULE_WATCH_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/thread.h"

namespace sluice::rls {

// A number that changes when a file below `path` is written, added, removed or replaced, also
// through a symbolic link, or when its owner or permissions are changed. Two calls without such a
// change in between give the same.
std::uint64_t fingerprint_of(const std::string& path);

// RuleWatch calls back when the rules at a path have changed: a file, or a folder with those below
// it. It watches by inotify and waits until the files have been quiet for kQuiet, at most for
// kLongestUnrest, so that files which are written together are read together. The swap of a
// symbolic link, by which Kubernetes replaces the files of a volume, is such a change, also in the
// middle of the path. Where inotify reports nothing (network file systems, or the system's limit on
// watches), it notices a change within kInterval.
//
// Has a thread of its own, on which the callback runs. Thread-compatible.
class RuleWatch {
  public:
    static constexpr std::chrono::milliseconds kQuiet{100};
    static constexpr std::chrono::milliseconds kLongestUnrest{1'000};
    static constexpr std::chrono::milliseconds kInterval{10'000};

    // `fingerprint` is that of the files as the caller has read them, taken before: a change since
    // then is reported, too. If `changed` throws, it is called again. kOutOfThreads, or
    // kStoreFailed where the system refuses a descriptor.
    static Result<std::unique_ptr<RuleWatch>> start(std::string path,
                                                    std::uint64_t fingerprint,
                                                    std::function<void()> changed,
                                                    OnThreadFailure on_failure = {});
    // Ends the thread; waits for a callback that is running.
    ~RuleWatch();
    RuleWatch(const RuleWatch&) = delete;
    RuleWatch& operator=(const RuleWatch&) = delete;

  private:
    // An open file descriptor.
    class Descriptor {
      public:
        explicit Descriptor(int number = -1) : number_(number) {}
        Descriptor(Descriptor&& other) noexcept;
        Descriptor& operator=(Descriptor&& other) noexcept;
        ~Descriptor();
        int number() const { return number_; }

      private:
        int number_;
    };

    RuleWatch(std::string path,
              std::uint64_t fingerprint,
              std::function<void()> changed,
              Descriptor stop);

    void run();
    // Watches all folders that matter now. A descriptor that reports nothing if inotify fails.
    Descriptor watch_folders() const;
    enum class WakeReason { kByChange, kByTime, kToStop };
    WakeReason wait(const Descriptor& watches, std::chrono::milliseconds timeout) const;
    // Waits until nothing changes any more. False if it has to stop.
    bool wait_until_quiet(const Descriptor& watches) const;

    const std::string path_;
    const std::function<void()> changed_;
    const Descriptor stop_;      // readable when the thread has to end
    std::uint64_t fingerprint_;  // of what was reported last; the thread's own after the start
    std::thread thread_;
};

}  // namespace sluice::rls

#endif  // SLUICE_RLS_RULE_WATCH_H_
