#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/cli/capture_process.h"
#include "app/cli/command.h"

namespace rematlas {

void add_runtime_commands(const Commands& commands) {
    // Only named for the list of commands: `hand_over_to_runtime` comes first.
    commands.app.add_subcommand("capture",
                                "record a model's training step as a graph (rematlas capture --help)");
    commands.app.add_subcommand("run", "train with a plan and verify it (rematlas run --help)");
}

Result<void> hand_over_to_runtime(int argc, char** argv) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command != "capture" && command != "run") return {};
    const Result<std::filesystem::path> runtime = runtime_program(std::string(command));
    if (!runtime) return runtime.error();
    ::execv(runtime->c_str(), argv);
    return Error{runtime->string() + ": cannot start: " + std::strerror(errno)};
}

}  // namespace rematlas
