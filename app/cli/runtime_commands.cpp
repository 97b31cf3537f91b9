#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "app/cli/capture_process.h"
#include "app/cli/command.h"

namespace rematlas {

void add_runtime_commands(const Commands& commands) {
    // Only named for the list of commands: `hand_over_to_runtime` comes first.
    commands.app.add_subcommand("capture",
                                "record a model's training step as a graph (rematlas capture --help)");
    commands.app.add_subcommand(
        "fits", "which cards a training step fits, which need not be there (rematlas fits --help)");
    commands.app.add_subcommand("run", "train with a plan and verify it (rematlas run --help)");
    commands.app.add_subcommand("links",
                                "measure how fast bytes move to the host and back (rematlas links --help)");
}

namespace {

/// package.module:function; cuda:1 is none.
bool names_python_function(std::string_view word) {
    const std::size_t colon = word.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == word.size()) return false;
    if (std::isdigit(static_cast<unsigned char>(word[colon + 1]))) return false;
    const auto is_of_names = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(colon),
                       [&](char c) { return is_of_names(c) || c == '.'; }) &&
           std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), is_of_names);
}

/// Of the options' values only the inputs of a capture have the same form, bool:true.
bool is_for_python(int argc, char** argv) {
    for (int i = 2; i < argc; ++i)
        if (names_python_function(argv[i]) && std::string_view(argv[i - 1]) != "--input") return true;
    return false;
}

/// The interpreter where the rematlas package is installed: that of the wheel, else the active environment's.
Result<void> hand_over_to_python(int argc, char** argv) {
    const char* of_wheel = std::getenv("REMATLAS_PYTHON");
    std::vector<char*> words;
    for (const char* word : {of_wheel ? of_wheel : "python3", "-m", "rematlas"})
        words.push_back(const_cast<char*>(word));
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    return Error{std::string(words[0]) + ": cannot start: " + std::strerror(errno)};
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
