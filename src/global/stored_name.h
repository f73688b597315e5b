// How a cell is named in a store, whose columns are not as long as an identifier may be.
#ifndef SLUICE_GLOBAL_STORED_NAME_H_
#define SLUICE_GLOBAL_STORED_NAME_H_

#include <array>

#include "counter/entry.h"
#include "window/cell.h"

namespace sluice {

// Parts that fit are stored as they are. A longer one is stored as its beginning, for people to
// recognise it by, and its SHA-256 in hexadecimal digits: just one byte longer than what fits, so
// that it can't be taken for a part that was stored as it is.
CellName stored_name(CellName cell);

// Whether some part of a key is longer than what fits.
bool has_long_part(const Entry::Key& key);

// Whether some part of a stored name stands for a longer one.
bool is_hashed(const CellName& stored);

// Identifies the key of a cell by its stored name: a SHA-256 of all parts but the sequence.
using StoredKeyId = std::array<unsigned char, 32>;
StoredKeyId stored_key_id(const CellName& stored);

}  // namespace sluice

#endif  // SLUICE_GLOBAL_STORED_NAME_H_
