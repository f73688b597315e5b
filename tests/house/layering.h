// Who may include whom. The table that says so is in layering.cc and nowhere else.
#ifndef SLUICE_TESTS_HOUSE_LAYERING_H_
#define SLUICE_TESTS_HOUSE_LAYERING_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "house/source_file.h"

namespace sluice::house {

// A room is a folder below src, or the whole of sim.
struct Room {
    std::string_view name;

    // Other rooms, or single headers of them, with a space between. A room may always include
    // itself, the public headers and libraries from outside.
    std::string_view may_include;
};

// All rooms, from the ground up: each may include only rooms that come before it.
std::span<const Room> rooms();

std::vector<std::string_view> words_of(std::string_view text);

// One message for each include among `files` that the table does not allow. It names the place and
// says how to mend it.
std::vector<std::string> layering_faults(std::span<const SourceFile> files);

}  // namespace sluice::house

#endif  // SLUICE_TESTS_HOUSE_LAYERING_H_
