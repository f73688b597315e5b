#include "global/stored_name.h"

#include <array>
#include <string_view>

#include <openssl/evp.h>

#include "base/check.h"
#include "global/store.h"

namespace sluice {
namespace {

std::string sha256_digits(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    SLUICE_CHECK(
        EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
    std::string digits;
    for (unsigned i = 0; i < size; ++i) {
        digits += kDigits[digest[i] >> 4U];
        digits += kDigits[digest[i] & 0xFU];
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

bool is_abridged(const CellName& stored) {
    return stored.workspace.size() > kStoredWorkspaceBytes ||
           stored.name_space.size() > kStoredNamespaceBytes ||
           stored.identifier.size() > kStoredIdentifierBytes;
}

}  // namespace sluice
