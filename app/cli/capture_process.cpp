#include "app/cli/capture_process.h"

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>

#include "app/programs/child_process.h"
#include "app/programs/python_package.h"
#include "app/programs/runtime_program.h"
#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

constexpr std::chrono::hours kNoLimit{24 * 365 * 10};  // ten years, which no capture takes

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
    const ChildRun run = run_child(words, kNoLimit);
    if (run.ended_well()) return read_graph(output);
    const std::string how = run.how_it_ended(kNoLimit);
    if (run.start_error) return Error{words.front() + ": " + how};
    if (WIFSIGNALED(run.status)) return Error{"capture " + how};
    return Error{run.errors.empty() ? "capture failed without a word" : last_line(run.errors)};
}

}  // namespace rematlas
