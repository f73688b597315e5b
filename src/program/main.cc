// The program `sluice`: the commands of cli/, and `simulate`.
#include <exception>
#include <iostream>

#include "cli/authorities.h"
#include "cli/program.h"
#include "config/load.h"
#include "program/simulate_command.h"

int main(int argc, char** argv) {
    using namespace sluice;
    try {
        cli::use_system_authorities();
        const cli::Environment environment{config::sluice_environment(), std::cout, std::cerr};
        return static_cast<int>(
            cli::run_program({argv + 1, argv + argc}, environment, {cli::add_simulate_command}));
    } catch (const std::exception& error) {
        std::cerr << "sluice: " << error.what() << "\n";
    }
    return static_cast<int>(cli::ExitCode::kError);
}
