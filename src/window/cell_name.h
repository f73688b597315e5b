// A cell as it is named outside of this process.
#ifndef SLUICE_WINDOW_CELL_NAME_H_
#define SLUICE_WINDOW_CELL_NAME_H_

#include <compare>
#include <string>

#include "window/sliding.h"

namespace sluice {

struct CellName {
    std::string workspace;
    std::string name_space;
    std::string identifier;
    Duration duration;
    Sequence sequence;

    friend auto operator<=>(const CellName&, const CellName&) = default;
};

}  // namespace sluice

#endif  // SLUICE_WINDOW_CELL_NAME_H_
