#include "rls/rule_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rls/rule_file.h"

namespace sluice::rls {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;

// How often folders are looked for that change while they are being watched.
constexpr int kMostTries = 5;

// As many links as the system follows.
constexpr int kMostLinks = 40;

// The names in `path`, without the empty one behind a slash at its end.
std::deque<fs::path> names_in(const fs::path& path) {
    const fs::path named = path.has_filename() ? path : path.parent_path();
    return {named.begin(), named.end()};
}

// Follows `path` name by name. Adds the folder of each symbolic link on the way, and that of the
// target or of the first name that is missing; returns where it ends.
fs::path follow(const fs::path& path, std::set<std::string>& folders) {
    std::error_code failed;
    std::deque<fs::path> names = names_in(path);
    fs::path at = path.is_absolute() ? "" : ".";
    for (int links = 0; !names.empty();) {
        fs::path next = at / names.front();
        names.pop_front();
        const fs::file_type type = fs::symlink_status(next, failed).type();
        const bool is_link = type == fs::file_type::symlink && links < kMostLinks;
        const bool is_end = names.empty() || type == fs::file_type::not_found;
        if (is_link || is_end) folders.insert(at.string());
        if (is_link) {
            ++links;
            const fs::path target = fs::read_symlink(next, failed);
            const std::deque<fs::path> more = names_in(target);
            names.insert(names.begin(), more.begin(), more.end());
            if (target.is_absolute()) at = "";
        } else if (is_end) {
            return next;
        } else {
            at = std::move(next);
        }
    }
    return at;
}

// The folders in which a change can mean other rules: those on the way to `path` that can lead
// elsewhere, and for a folder itself and those below it.
std::set<std::string> folders_of(const std::string& path) {
    std::set<std::string> folders;
    std::error_code failed;
    const fs::path target = follow(path, folders);
    if (!fs::is_directory(target, failed)) return folders;
    folders.insert(target.string());
    fs::recursive_directory_iterator item(target, failed);
    for (; !failed && item != fs::recursive_directory_iterator(); item.increment(failed)) {
        const bool is_hidden = item->path().filename().string().starts_with('.');
        if (is_hidden) {
            item.disable_recursion_pending();
        } else if (std::error_code ignored; item->is_directory(ignored)) {
            folders.insert(item->path().string());
        }
        if (folders.size() > kMaxRuleFiles) break;
    }
    return folders;
}

}  // namespace

std::uint64_t fingerprint_of(const std::string& path) {
    const auto files = list_rule_files(path);
    if (!files) return 0;
    std::uint64_t hash = 1;
    for (const std::string& file : *files) {
        hash = XXH3_64bits_withSeed(file.data(), file.size(), hash);
        struct stat status {};
        if (::stat(file.c_str(), &status) != 0) continue;
        const std::array<std::uint64_t, 7> state = {
            static_cast<std::uint64_t>(status.st_dev),
            static_cast<std::uint64_t>(status.st_ino),
            static_cast<std::uint64_t>(status.st_size),
            static_cast<std::uint64_t>(status.st_mtim.tv_sec),
            static_cast<std::uint64_t>(status.st_mtim.tv_nsec),
            static_cast<std::uint64_t>(status.st_ctim.tv_sec),
            static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
        hash = XXH3_64bits_withSeed(state.data(), sizeof state, hash);
    }
    return hash;
}

RuleWatch::Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

RuleWatch::Descriptor& RuleWatch::Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

RuleWatch::Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

Result<std::unique_ptr<RuleWatch>> RuleWatch::start(std::string path,
                                                    std::uint64_t fingerprint,
                                                    std::function<void()> changed,
                                                    OnThreadFailure on_failure) try {
    Descriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (stop.number() < 0) {
        return Error{kStoreFailed,
                     std::string("the system refused a descriptor: ") + std::strerror(errno)};
    }
    std::unique_ptr<RuleWatch> watch(
        new RuleWatch(std::move(path), fingerprint, std::move(changed), std::move(stop)));
    watch->thread_ = start_thread({.name = "sluice-rules", .on_failure = std::move(on_failure)},
                                  [raw = watch.get()] { raw->run(); });
    return watch;
} catch (const std::system_error& refused) {
    return Error{kOutOfThreads, std::string("the system refused a thread: ") + refused.what()};
}

RuleWatch::RuleWatch(std::string path,
                     std::uint64_t fingerprint,
                     std::function<void()> changed,
                     Descriptor stop)
    : path_(std::move(path)),
      changed_(std::move(changed)),
      stop_(std::move(stop)),
      fingerprint_(fingerprint) {}

RuleWatch::~RuleWatch() {
    const std::uint64_t one = 1;
    // Can't fail: the counter is 0, and the thread reads nothing of it.
    static_cast<void>(!::write(stop_.number(), &one, sizeof one));
    if (thread_.joinable()) thread_.join();
}

RuleWatch::Descriptor RuleWatch::watch_folders() const {
    Descriptor watches(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (watches.number() < 0) return watches;
    // What changes before its folder is watched is found by looking again.
    std::set<std::string> folders = folders_of(path_);
    for (int tries = 0; tries < kMostTries; ++tries) {
        bool is_missing = false;
        for (const std::string& folder : folders) {
            is_missing |= ::inotify_add_watch(watches.number(), folder.c_str(), kEvents) < 0 &&
                          errno == ENOENT;
        }
        const std::set<std::string> watched = std::exchange(folders, folders_of(path_));
        if (watched == folders && !is_missing) break;
    }
    return watches;
}

RuleWatch::WakeReason RuleWatch::wait(const Descriptor& watches,
                                      std::chrono::milliseconds timeout) const {
    // poll() ignores a negative descriptor.
    std::array<pollfd, 2> ready = {pollfd{stop_.number(), POLLIN, 0},
                                   pollfd{watches.number(), POLLIN, 0}};
    const int count = ::poll(ready.data(), ready.size(), static_cast<int>(timeout.count()));
    if (ready[0].revents != 0) return WakeReason::kToStop;
    if (count <= 0 || ready[1].revents == 0) return WakeReason::kByTime;
    std::array<char, 4096> events;
    while (::read(watches.number(), events.data(), events.size()) > 0) {
    }
    return WakeReason::kByChange;
}

bool RuleWatch::wait_until_quiet(const Descriptor& watches) const {
    const auto end = std::chrono::steady_clock::now() + kLongestUnrest;
    for (;;) {
        const WakeReason reason = wait(watches, kQuiet);
        if (reason == WakeReason::kToStop) return false;
        if (reason == WakeReason::kByTime || std::chrono::steady_clock::now() >= end) return true;
    }
}

// New watches are set before the files are looked at: a change after that wakes the next wait. May
// be called again after an exception: a change that was not handled is handled then.
void RuleWatch::run() {
    Descriptor watches = watch_folders();
    for (;;) {
        const std::uint64_t now = fingerprint_of(path_);
        if (now != fingerprint_) changed_();
        fingerprint_ = now;
        const WakeReason reason = wait(watches, kInterval);
        if (reason == WakeReason::kToStop) return;
        if (reason == WakeReason::kByChange && !wait_until_quiet(watches)) return;
        watches = watch_folders();
    }
}

}  // namespace sluice::rls
