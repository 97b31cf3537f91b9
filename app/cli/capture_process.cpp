#include "app/cli/capture_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "app/programs/python_package.h"
#include "app/programs/runtime_program.h"
#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

/// Reads everything from a pipe until its other end is closed.
std::string drain(int pipe) {
    std::string text;
    char part[4096];
    for (ssize_t got; (got = ::read(pipe, part, sizeof part)) != 0;) {
        if (got > 0) text.append(part, static_cast<std::size_t>(got));
        if (got < 0 && errno != EINTR) break;
    }
    return text;
}

std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text = text.substr(text.rfind('\n') + 1);
    constexpr std::string_view prefix = "rematlas: ";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

Result<std::filesystem::path> runtime_program(const std::string& command) {
    const std::filesystem::path runtime = find_runtime_program();
    if (!runtime.empty()) return runtime;
    if (const char* why = std::getenv("REMATLAS_NO_RUNTIME"); why && *why) return Error{command + ": " + why};
    return Error{command +
                 ": needs the program rematlas-runtime, which comes with the Python package of Rematlas (no "
                 "environment with it is active) or with a build with libtorch"};
}

Result<Graph> capture_in_process(const std::vector<std::string>& arguments,
                                 const std::filesystem::path& output) {
    std::vector<std::string> words;
    if (names_python_function(arguments.front())) {
        words = python_package();
    } else {
        const Result<std::filesystem::path> program = runtime_program("capture");
        if (!program) return program.error();
        words = {program->string()};
    }
    words.emplace_back("capture");
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--quiet", "-o", output.string()});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    int errors[2];
    if (::pipe2(errors, O_CLOEXEC) != 0) return Error{std::string("capture: ") + std::strerror(errno)};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(errors[1]);
    const std::string said = failed ? std::string() : drain(errors[0]);
    ::close(errors[0]);
    if (failed) return Error{words.front() + ": cannot start: " + std::strerror(failed)};
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        return Error{"capture was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                     strsignal(WTERMSIG(status)) + ")"};
    if (WEXITSTATUS(status) != 0)
        return Error{said.empty() ? "capture failed without a word" : last_line(said)};
    return read_graph(output);
}

}  // namespace rematlas
