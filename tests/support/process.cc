#include "support/process.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice::server_test {

ScratchFolder::ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
    folder_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string ScratchFolder::write(std::string_view name, std::string_view content) const {
    const std::string place = path(name);
    const std::string draft = place + ".draft";
    std::ofstream(draft, std::ios::binary) << content;
    std::filesystem::rename(draft, place);
    return place;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

std::string path_of_program() {
    const char* chosen = std::getenv("SLUICE_PROGRAM");
    return chosen != nullptr ? chosen : SLUICE_PROGRAM_PATH;
}

std::vector<std::string> cleaned_environment(const std::vector<std::string>& additions) {
    std::vector<std::string> kept = additions;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with("SLUICE_")) kept.emplace_back(*entry);
    return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// To `descriptor`, or to a new file at `path` if there is none.
void redirect(int stream, int descriptor, const std::string& path) {
    if (descriptor < 0)
        descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(descriptor, stream);
}

// The state letter of a thread as in /proc/PID/task/TID/stat, behind the name in parentheses.
char state_of(const std::filesystem::path& task) {
    const std::string status = read_file((task / "stat").string());
    const std::size_t name_end = status.rfind(')');
    return name_end + 2 < status.size() ? status[name_end + 2] : '?';
}

bool stands_still(pid_t pid) {
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    const std::filesystem::directory_iterator threads(tasks);
    return std::ranges::all_of(threads,
                               [](const auto& task) { return state_of(task.path()) == 'T'; });
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment,
                 Streams streams) {
    std::vector<std::string> words = {path_of_program()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = cleaned_environment(environment);
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(variables);
    const std::string out = scratch_.path("out");
    const std::string err = scratch_.path("err");

    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
        redirect(STDOUT_FILENO, streams.out, out);
        redirect(STDERR_FILENO, streams.err, err);
        ::execve(argv[0], argv.data(), envp.data());
        ::_exit(127);
    }
}

Program::~Program() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    reap(0);
}

void Program::signal(int number) const {
    if (!status_) ::kill(pid_, number);
}

void Program::pause() const {
    signal(SIGSTOP);
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!stands_still(pid_)) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("the program did not stop in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool Program::running() {
    return !reap(WNOHANG);
}

Ending Program::wait(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!reap(WNOHANG)) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("the program did not end in time; it wrote:\n" + output());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const bool exited = WIFEXITED(*status_);
    return {exited ? WEXITSTATUS(*status_) : -1,
            exited ? 0 : WTERMSIG(*status_),
            read_file(scratch_.path("out")),
            read_file(scratch_.path("err"))};
}

std::string Program::output() const {
    return read_file(scratch_.path("out")) + read_file(scratch_.path("err"));
}

bool Program::reap(int options) {
    if (status_) return true;
    int status = 0;
    if (::waitpid(pid_, &status, options) != pid_) return false;
    status_ = status;
    return true;
}

Ending run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
    return Program(arguments, environment).wait();
}

void PeerProcess::start(std::vector<std::string> words, const std::string& log) {
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server behind
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
}

void PeerProcess::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

bool PeerProcess::has_ended() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ <= 0;
}

void PeerProcess::pause() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    while (::waitpid(pid_, &status, WUNTRACED) == pid_ && !WIFSTOPPED(status)) {
        if (WIFEXITED(status) || WIFSIGNALED(status))
            throw std::runtime_error("the server ended instead of standing still");
    }
}

void PeerProcess::resume() const {
    ::kill(pid_, SIGCONT);
}

}  // namespace sluice::server_test
