// Names of cells in the global store, and the ids by which nodes find them.
#ifndef SLUICE_GLOBAL_STORED_NAME_H_
#define SLUICE_GLOBAL_STORED_NAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "counter/entry.h"
#include "window/cell.h"

namespace sluice {

// The name of a cell in a store, whose columns are shorter than an identifier may be. Parts that
// fit are stored as they are. A longer one is stored as its beginning, for people to recognise it
// by, and its SHA-256 in hexadecimal digits: just one byte longer than what fits, so that it can't
// be taken for a part that was stored as it is.
CellName stored_name(CellName cell);

// Whether some part of a key is longer than what fits.
bool has_long_part(const Entry::Key& key);

// Whether some part of a stored name stands for a longer one.
bool is_hashed(const CellName& stored);

// Identifies the key of a cell by its stored name: half of a SHA-256 of all parts but the sequence,
// so that no caller can make two keys that share an id.
struct StoredKeyId {
    std::array<std::uint8_t, 16> bytes;

    friend bool operator==(const StoredKeyId&, const StoredKeyId&) = default;
    // A part of the digest: as good as any hash.
    std::size_t hash() const {
        std::size_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
};
StoredKeyId stored_key_id(const CellName& stored);
StoredKeyId stored_key_id(const Entry::Key& key);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_STORED_NAME_H_
