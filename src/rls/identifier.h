// The identifier of a descriptor: the text under which its hits are counted.
//
//     remote_address=10.0.0.1,path=/login
//
// Entries are separated by commas, keys and values by the first equals sign. In keys and values,
// the bytes `%`, `,`, `=`, `*`, control characters and bytes above 126 are written as % and two
// hexadecimal digits, so two descriptors have the same identifier only if they are equal, whatever
// bytes they hold. A `*` stands only for a value that is shared by all values of a wildcard.
#ifndef SLUICE_RLS_IDENTIFIER_H_
#define SLUICE_RLS_IDENTIFIER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "rls/messages.h"

namespace sluice::rls {

inline constexpr std::size_t kMaxIdentifierBytes = 512;

// Appends an entry to the identifier of a descriptor, with a comma if it is not the first.
void append_entry(std::string& identifier, const DescriptorEntry& entry);

// The same for an entry whose value counts together with all others that `pattern` matches.
void append_shared_entry(std::string& identifier, std::string_view key, std::string_view pattern);

// Frees the memory of a text that is much larger than an identifier: buffers are reused, and a
// request should not leave its size in them.
void release_large(std::string& text);

// Ends an identifier. One of more than kMaxIdentifierBytes becomes its beginning, "%~" and its
// SHA-256 digest, which no other identifier contains.
void finish_identifier(std::string& identifier);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_IDENTIFIER_H_
