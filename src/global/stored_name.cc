#include "global/stored_name.h"

#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "base/check.h"
#include "global/store.h"

namespace sluice {
namespace {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view text) {
    Sha256 digest{};
    SLUICE_CHECK(
        EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
    return digest;
}

std::string sha256_digits(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (const unsigned char byte : sha256(text)) {
        digits += kDigits[byte >> 4U];
        digits += kDigits[byte & 0xFU];
    }
    return digits;
}

void abridge(std::string& part, std::size_t fits) {
    if (part.size() <= fits) return;
    const std::string digits = sha256_digits(part);
    part.resize(fits + 1 - digits.size());
    part += digits;
}

}  // namespace

CellName stored_name(CellName cell) {
    abridge(cell.workspace, kStoredWorkspaceBytes);
    abridge(cell.name_space, kStoredNamespaceBytes);
    abridge(cell.identifier, kStoredIdentifierBytes);
    return cell;
}

bool has_long_part(const Entry::Key& key) {
    return key.workspace.size() > kStoredWorkspaceBytes ||
           key.name_space.size() > kStoredNamespaceBytes ||
           key.identifier.size() > kStoredIdentifierBytes;
}

bool is_hashed(const CellName& stored) {
    return stored.workspace.size() > kStoredWorkspaceBytes ||
           stored.name_space.size() > kStoredNamespaceBytes ||
           stored.identifier.size() > kStoredIdentifierBytes;
}

StoredKeyId stored_key_id(const CellName& stored) {
    std::string text = std::to_string(stored.duration.count());
    for (const std::string* part : {&stored.workspace, &stored.name_space, &stored.identifier})
        text += ',' + std::to_string(part->size()) + ':' + *part;
    return sha256(text);
}

}  // namespace sluice
