#include "global/bus_inbox.h"

#include <utility>
#include <variant>

#include "global/announcement_codec.h"

namespace sluice {
namespace {

void raise(BusTally::Counter& counter, std::uint64_t by = 1) {
    counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

BusCounts BusTally::read() const {
    const auto value = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {.messages_sent = value(messages_sent),
            .announcements_sent = value(announcements_sent),
            .messages_received = value(messages_received),
            .announcements_received = value(announcements_received),
            .malformed = value(malformed),
            .foreign_version = value(foreign_version),
            .own_region = value(own_region),
            .announcements_unsent = value(announcements_unsent),
            .announcements_overflowed = value(announcements_overflowed),
            .receive_overflowed = value(receive_overflowed),
            .reconnects = value(reconnects)};
}

BusInbox::BusInbox(std::string region, Bus::Receivers receivers)
    : region_(std::move(region)), receivers_(std::move(receivers)) {}

void BusInbox::receive(std::string_view bytes) {
    const auto decoded = decode_announcement(bytes);
    if (const auto* const fault = std::get_if<AnnouncementFault>(&decoded)) {
        const bool is_malformed = *fault == AnnouncementFault::kMalformed;
        return raise(is_malformed ? tally_.malformed : tally_.foreign_version);
    }
    const BusMessage& message = std::get<BusMessage>(decoded);
    if (message.region == region_) {
        raise(tally_.own_region);
        return pass(message, receivers_.own_region);
    }
    raise(tally_.messages_received);
    raise(tally_.announcements_received, message.counts.size());
    pass(message, receivers_.other_region);
}

void BusInbox::pass(const BusMessage& message, const Bus::Receive& receiver) {
    if (message.counts.empty() || !receiver) return;
    const MutexLock lock(mutex_);
    if (!is_closed_) receiver(message);
}

void BusInbox::close() {
    const MutexLock lock(mutex_);
    is_closed_ = true;
}

}  // namespace sluice
