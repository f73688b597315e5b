#include "rls/identifier.h"

#include <algorithm>
#include <array>

#include "base/sha256.h"

namespace sluice::rls {
namespace {

// The beginning that a shortened identifier keeps, for overrides by prefix and for people.
constexpr std::size_t kKeptBytes = 400;
constexpr std::string_view kDigestMark = "%~";
static_assert(kKeptBytes + kDigestMark.size() + 64 <= kMaxIdentifierBytes);

constexpr std::array<bool, 256> kIsEscaped = [] {
    std::array<bool, 256> escaped{};
    for (std::size_t byte = 0; byte < escaped.size(); ++byte)
        escaped[byte] = byte < 0x20 || byte > 0x7e;
    for (const char special : {'%', ',', '=', '*'})
        escaped[static_cast<unsigned char>(special)] = true;
    return escaped;
}();

enum class Asterisk { kEscape, kKeep };

void append_escaped(std::string& out, std::string_view text, Asterisk asterisk) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto needs_escape = [asterisk](char letter) {
        return kIsEscaped[static_cast<unsigned char>(letter)] &&
               !(letter == '*' && asterisk == Asterisk::kKeep);
    };
    for (;;) {
        const auto stop = std::ranges::find_if(text, needs_escape);
        out.append(text.begin(), stop);
        if (stop == text.end()) return;
        const auto byte = static_cast<unsigned char>(*stop);
        out += '%';
        out += kHex[byte >> 4U];
        out += kHex[byte & 15U];
        text = {stop + 1, text.end()};
    }
}

void append_pair(std::string& out, const DescriptorEntry& entry, Asterisk asterisk) {
    if (!out.empty()) out += ',';
    append_escaped(out, entry.key, Asterisk::kEscape);
    out += '=';
    append_escaped(out, entry.value, asterisk);
}

}  // namespace

void append_entry(std::string& identifier, const DescriptorEntry& entry) {
    append_pair(identifier, entry, Asterisk::kEscape);
}

void append_shared_entry(std::string& identifier, std::string_view key, std::string_view pattern) {
    append_pair(identifier, {key, pattern}, Asterisk::kKeep);
}

void release_large(std::string& text) {
    if (text.capacity() > 2 * kMaxIdentifierBytes) [[unlikely]]
        std::string().swap(text);
}

void finish_identifier(std::string& identifier) {
    if (identifier.size() <= kMaxIdentifierBytes) [[likely]]
        return;
    const std::string digest = to_hex(sha256_of(identifier));
    std::string kept = identifier.substr(0, kKeptBytes);
    kept.append(kDigestMark).append(digest);
    identifier.swap(kept);
}

}  // namespace sluice::rls
