#include "global/announcement_codec.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace sluice {
namespace {

constexpr std::string_view kMagic = "SL";
constexpr char kVersion = 1;

// The parts of a name that are texts, with the longest that a stored name has.
struct TextPart {
    std::string CellName::*text;
    std::size_t most;
};
constexpr TextPart kTextParts[] = {{&CellName::workspace, kStoredWorkspaceBytes + 1},
                                   {&CellName::name_space, kStoredNamespaceBytes + 1},
                                   {&CellName::identifier, kStoredIdentifierBytes + 1}};

void append_number(std::string& out, std::uint64_t number) {
    for (; number >= 0x80U; number >>= 7U)
        out += static_cast<char>(number | 0x80U);
    out += static_cast<char>(number);
}

void append_text(std::string& out, std::string_view text, std::string_view before) {
    const auto [differs, ignored] = std::ranges::mismatch(text, before);
    const auto shared = static_cast<std::size_t>(differs - text.begin());
    append_number(out, shared);
    append_number(out, text.size() - shared);
    out += text.substr(shared);
}

std::string encoded(const RegionCount& count, const CellName& before) {
    std::string out;
    for (const TextPart& part : kTextParts)
        append_text(out, count.cell.*part.text, before.*part.text);
    append_number(out, static_cast<std::uint64_t>(count.cell.duration.count()));
    append_number(out, static_cast<std::uint64_t>(count.cell.sequence));
    append_number(out, count.count);
    return out;
}

std::string head(const std::string& region, std::size_t counts) {
    std::string out(kMagic);
    out += kVersion;
    append_number(out, region.size());
    out += region;
    append_number(out, counts);
    return out;
}

// A message under construction.
struct Draft {
    bool has_room_for(const std::string& region, std::size_t more) const {
        return counts < kMaxAnnouncedCounts &&
               head(region, counts + 1).size() + body.size() + more <= kMaxAnnouncementBytes;
    }

    std::uint8_t shard = 0;
    std::size_t counts = 0;
    std::string body = {};
    CellName last = {};
};

bool is_encodable(const RegionCount& count) {
    return is_possible(count.cell) && count.count <= kMaxCount &&
           std::ranges::all_of(kTextParts, [&](const TextPart& part) {
               return (count.cell.*part.text).size() <= part.most;
           });
}

// Reads a message from its front.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    bool is_at_end() const { return rest_.empty(); }

    // None if there is none, it is more than `most`, or it is longer than necessary.
    std::optional<std::uint64_t> number(std::uint64_t most) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 63; shift += 7) {
            const auto byte = bytes(1);
            if (!byte) return std::nullopt;
            const auto bits = static_cast<unsigned char>(byte->front());
            value |= (std::uint64_t{bits} & 0x7FU) << shift;
            if ((bits & 0x80U) != 0) continue;
            const bool is_minimal = bits != 0 || shift == 0;
            return is_minimal && value <= most ? std::optional(value) : std::nullopt;
        }
        return std::nullopt;
    }

    std::optional<std::string_view> bytes(std::size_t size) {
        if (size > rest_.size()) return std::nullopt;
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    // Replaces `text`, that of the count before, which has at most `most` bytes.
    bool text(std::string& text, std::size_t most) {
        const auto shared = number(text.size());
        const auto size = shared ? number(most - *shared) : std::nullopt;
        const auto rest = size ? bytes(*size) : std::nullopt;
        if (!rest) return false;
        text.resize(*shared);
        text += *rest;
        return true;
    }

    // Replaces `count`, the one before.
    bool count(RegionCount& count) {
        for (const TextPart& part : kTextParts)
            if (!text(count.cell.*part.text, part.most)) return false;
        const auto duration = number(static_cast<std::uint64_t>(kMaxDuration.count()));
        const auto sequence = duration ? number(kMaxCount) : std::nullopt;
        const auto component = sequence ? number(kMaxCount) : std::nullopt;
        if (!component) return false;
        count.cell.duration = Duration{static_cast<std::int64_t>(*duration)};
        count.cell.sequence = static_cast<Sequence>(*sequence);
        count.count = *component;
        return is_possible(count.cell);
    }

  private:
    std::string_view rest_;
};

// Reads what follows the version.
std::optional<BusMessage> read_message(Reader& reader) {
    BusMessage message;
    const auto size = reader.number(kMaxAnnouncedRegionBytes);
    const auto region = size ? reader.bytes(*size) : std::nullopt;
    if (!region || region->empty()) return std::nullopt;
    message.region = *region;
    const auto counts = reader.number(kMaxAnnouncedCounts);
    if (!counts) return std::nullopt;
    RegionCount count{};
    for (std::uint64_t i = 0; i < *counts; ++i) {
        if (!reader.count(count)) return std::nullopt;
        message.counts.push_back(count);
    }
    if (!reader.is_at_end()) return std::nullopt;
    return message;
}

}  // namespace

std::uint8_t shard_of(std::string_view workspace) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char byte : workspace)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    return static_cast<std::uint8_t>(hash >> 56U);
}

std::vector<EncodedAnnouncement> encode_announcements(const std::string& region,
                                                      std::vector<RegionCount> counts) {
    SLUICE_CHECK(!region.empty() && region.size() <= kMaxAnnouncedRegionBytes);
    // Neighbours in this order share the beginnings of their names.
    std::ranges::sort(counts, {}, [](const RegionCount& count) {
        return std::tuple<std::uint8_t, const CellName&>(shard_of(count.cell.workspace),
                                                         count.cell);
    });
    std::vector<EncodedAnnouncement> messages;
    Draft draft;
    const auto finish = [&] {
        if (draft.counts == 0) return;
        messages.push_back({.shard = draft.shard,
                            .counts = draft.counts,
                            .bytes = head(region, draft.counts) + draft.body});
    };
    for (const RegionCount& count : counts) {
        SLUICE_CHECK(is_encodable(count));
        const std::uint8_t shard = shard_of(count.cell.workspace);
        std::string bytes = encoded(count, draft.last);
        if (shard != draft.shard || !draft.has_room_for(region, bytes.size())) {
            finish();
            draft = {.shard = shard};
            bytes = encoded(count, draft.last);
        }
        draft.body += bytes;
        draft.last = count.cell;
        ++draft.counts;
    }
    finish();
    return messages;
}

std::string encode_greeting(const std::string& region) {
    return head(region, 0);
}

std::variant<BusMessage, AnnouncementFault> decode_announcement(std::string_view bytes) {
    if (bytes.size() > kMaxAnnouncementBytes || !bytes.starts_with(kMagic) ||
        bytes.size() == kMagic.size())
        return AnnouncementFault::kMalformed;
    if (bytes[kMagic.size()] != kVersion) return AnnouncementFault::kForeignVersion;
    Reader reader(bytes.substr(kMagic.size() + 1));
    auto message = read_message(reader);
    if (!message) return AnnouncementFault::kMalformed;
    return *std::move(message);
}

}  // namespace sluice
