#include "http/wire/ready_set.h"

#include <array>
#include <cerrno>
#include <ctime>

#include <boost/system/system_error.hpp>
#include <sys/epoll.h>

namespace sluice::http {

namespace {

constexpr int kEventsPerRound = 128;

// Under load the next events come soon after a round. Waiting for them here, for a moment, spares
// the system calls of a wait through Asio: without it, a request costs about one more. What it
// costs is that Asio's other work, such as a timer, may come late by the product of the two.
constexpr int kRoundsPerWait = 8;
constexpr std::timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000};

int create_epoll() {
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        throw boost::system::system_error(errno, boost::system::system_category(), "epoll_create1");
    }
    return epoll;
}

}  // namespace

ReadySet::ReadySet(boost::asio::io_context& context, Actions actions)
    : actions_(std::move(actions)), epoll_(context, create_epoll()) {}

bool ReadySet::add(int socket, void* who) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = who;
    return epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void ReadySet::wait() {
    const std::weak_ptr<bool> alive = alive_;
    epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, alive](const boost::system::error_code& failure) {
                          if (!failure && !alive.expired()) on_ready();
                      });
}

void ReadySet::on_ready() {
    Wait wait = Wait::kNo;
    for (int round = 0; round < kRoundsPerWait && run_round(wait); ++round)
        wait = Wait::kBriefly;
    this->wait();
}

// True if there were events and Asio's other work can wait.
bool ReadySet::run_round(Wait wait) {
    std::array<epoll_event, kEventsPerRound> events;
    const int epoll = epoll_.native_handle();
    // A kernel that is too old for the second call fails it, and leaves the waiting to Asio.
    const int count = wait == Wait::kNo
                          ? epoll_wait(epoll, events.data(), kEventsPerRound, 0)
                          : epoll_pwait2(epoll, events.data(), kEventsPerRound, &kMoment, nullptr);
    if (count <= 0) return false;
    actions_.before_round();
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        actions_.on_event(event.data.ptr, event.events);
    }
    return actions_.after_round();
}

}  // namespace sluice::http
