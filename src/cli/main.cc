#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>

#include "cli/program.h"
#include "config/load.h"

int main(int argc, char** argv) {
    using namespace sluice;
    try {
        const cli::Environment environment{config::sluice_environment(), std::cout, std::cerr};
        return static_cast<int>(cli::run_program({argv + 1, argv + argc}, environment));
    } catch (const std::exception& error) {
        std::cerr << "sluice: " << error.what() << "\n";
    }
    return static_cast<int>(cli::ExitCode::kError);
}
