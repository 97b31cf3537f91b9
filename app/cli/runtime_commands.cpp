#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "app/cli/capture_process.h"
#include "app/cli/command.h"
#include "app/programs/python_package.h"

namespace rematlas {

void add_runtime_commands(const Commands& commands) {
    // These sub-commands only appear in the list of commands. They are never run here, because
    // `hand_over_to_runtime` is called first.
    commands.app.add_subcommand("capture",
                                "record a model's training step as a graph (rematlas capture --help)");
    commands.app.add_subcommand(
        "fits", "tell which cards a training step fits; they need not be there (rematlas fits --help)");
    commands.app.add_subcommand("run", "train with a plan and verify it (rematlas run --help)");
    commands.app.add_subcommand("links",
                                "measure how fast bytes move to the host and back (rematlas links --help)");
}

namespace {

/// Says whether an argument names a Python function. Ignores the values of --input, which can have the same
/// form (bool:true). Values of other options never have this form.
bool is_for_python(int argc, char** argv) {
    for (int i = 2; i < argc; ++i)
        if (names_python_function(argv[i]) && std::string_view(argv[i - 1]) != "--input") return true;
    return false;
}

Result<void> hand_over_to_python(int argc, char** argv) {
    std::vector<std::string> command = python_package();
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    return Error{command.front() + ": cannot start: " + std::strerror(errno)};
}

}  // namespace

Result<void> hand_over_to_runtime(int argc, char** argv) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "fits") return hand_over_to_python(argc, argv);
    if (command != "capture" && command != "run" && command != "links") return {};
    if (is_for_python(argc, argv)) return hand_over_to_python(argc, argv);
    const Result<std::filesystem::path> runtime = runtime_program(std::string(command));
    if (!runtime) return runtime.error();
    ::execv(runtime->c_str(), argv);
    return Error{runtime->string() + ": cannot start: " + std::strerror(errno)};
}

}  // namespace rematlas
