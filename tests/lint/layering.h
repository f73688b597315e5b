// The layers of the code and the includes that each allows. The table is in layering.cc.
#ifndef SLUICE_TESTS_LINT_LAYERING_H_
#define SLUICE_TESTS_LINT_LAYERING_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/source_file.h"

namespace sluice::lint {

// A layer is a folder below src, or the whole of sim.
struct Layer {
    std::string_view name;

    // Other layers, or single headers of them, with a space between. A layer may always include
    // itself, the public headers and libraries from outside.
    std::string_view may_include;
};

// All layers, from the ground up: each may include only layers that come before it.
std::span<const Layer> layers();

std::vector<std::string_view> words_of(std::string_view text);

// One message for each include among `files` that the table does not allow. It names the place and
// says how to fix it.
std::vector<std::string> layering_faults(std::span<const SourceFile> files);

// The entries of the table that none of `files` needs, as "layer -> entry".
std::vector<std::string> unused_entries(std::span<const SourceFile> files);

}  // namespace sluice::lint

#endif  // SLUICE_TESTS_LINT_LAYERING_H_
