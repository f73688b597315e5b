#include "global/stored_name.h"

#include <algorithm>
#include <string>

#include "base/sha256.h"
#include "global/store.h"

namespace sluice {
namespace {

void hash_excess(std::string& part, std::size_t fits) {
    if (part.size() <= fits) return;
    const std::string digits = to_hex(sha256_of(part));
    part.resize(fits + 1 - digits.size());
    part += digits;
}

}  // namespace

CellName stored_name(CellName cell) {
    hash_excess(cell.workspace, kStoredWorkspaceBytes);
    hash_excess(cell.name_space, kStoredNamespaceBytes);
    hash_excess(cell.identifier, kStoredIdentifierBytes);
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
    const Sha256 digest = sha256_of(text);
    StoredKeyId id{};
    std::copy_n(digest.begin(), id.bytes.size(), id.bytes.begin());
    return id;
}

StoredKeyId stored_key_id(const Entry::Key& key) {
    return stored_key_id(stored_name(name_of(key, 0)));
}

}  // namespace sluice
