// The report of a simulation as one self-contained HTML file.
#ifndef SLUICE_PROGRAM_SIMULATION_PAGE_H_
#define SLUICE_PROGRAM_SIMULATION_PAGE_H_

#include <iosfwd>
#include <string>

namespace sluice::cli {

// Writes a page that draws `json`, the result of a run, with the charts of the server's page. It
// asks for nothing else, and its Content-Security-Policy allows only its own script and style.
void write_simulation_page(const std::string& json, std::ostream& out);

}  // namespace sluice::cli

#endif  // SLUICE_PROGRAM_SIMULATION_PAGE_H_
