#include "measure/process.h"

#include <array>
#include <fstream>
#include <sstream>

#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace sluice::bench {
namespace {

std::vector<std::size_t> allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(getpid(), sizeof set, &set);
    std::vector<std::size_t> cores;
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    return cores;
}

// Read before main, while the main thread is not pinned yet.
const std::vector<std::size_t> all_cores = allowed_cores();

void allow(const std::vector<std::size_t>& cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::size_t core : cores) {
        CPU_SET(core, &set);
    }
    sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void become(const std::vector<std::string>& arguments, int output) {
    std::vector<char*> argv;
    std::string name = "/proc/self/exe";
    argv.push_back(name.data());
    std::vector<std::string> copies = arguments;
    for (std::string& copy : copies) {
        argv.push_back(copy.data());
    }
    argv.push_back(nullptr);
    allow(all_cores);
    dup2(output, STDOUT_FILENO);
    execv(name.c_str(), argv.data());
    _exit(127);
}

std::string read_all(int from) {
    std::string text;
    std::array<char, 512> part{};
    for (ssize_t n = 0; (n = read(from, part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<std::size_t>(n));
    }
    return text;
}

}  // namespace

void pin_to_core(std::size_t index) {
    if (!all_cores.empty()) allow({all_cores[index % all_cores.size()]});
}

void unpin() {
    if (!all_cores.empty()) allow(all_cores);
}

double processor_seconds(Whose whose) {
    timespec spent{};
    const bool is_thread = whose == Whose::kThread;
    clock_gettime(is_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

std::size_t resident_bytes() {
    std::size_t all = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<double> numbers_from_fresh_process(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return {};
    const pid_t child = fork();
    if (child == 0) become(arguments, ends[1]);
    close(ends[1]);
    std::istringstream output(child > 0 ? read_all(ends[0]) : std::string());
    close(ends[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return {};
    std::vector<double> numbers;
    for (double number = 0; output >> number;) {
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace sluice::bench
