// The parts that all commands share: flags, exit status, and the printing of answers.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/exit.h"
#include "core/base/result.h"

namespace rematlas {

struct OutputFlags {
    bool json = false;   ///< print one JSON object to standard output
    bool quiet = false;  ///< show no progress on standard error

    bool shows_progress() const;  ///< true if not quiet, and standard error is a terminal
};

/// Adds sub-commands with `add`. When the command line names a sub-command, its `body` runs, and `exit` gets
/// the exit status. `body` returns Exit::success or Exit::negative, or an error, which is printed as one
/// line.
struct Commands {
    CLI::App& app;
    Exit& exit;

    CLI::App* add(const std::string& name, const std::string& summary, const std::string& example,
                  OutputFlags& flags, std::function<Result<Exit>()> body) const;
};

/// Prints "rematlas: message" to standard error. Returns Exit::negative if the error has
/// ErrorKind::negative, else Exit::wrong_input.
Exit fail(const Error& error);

void print_json(const nlohmann::json& object);

void add_graph_commands(const Commands& commands);  ///< the commands inspect and decompose
void add_solve_commands(const Commands& commands);  ///< the commands solve and sweep
void add_maxbatch_command(const Commands& commands);
void add_check_command(const Commands& commands);
void add_export_command(const Commands& commands);
void add_diff_command(const Commands& commands);
void add_draw_command(const Commands& commands);
void add_report_command(const Commands& commands);
void add_serve_command(const Commands& commands);
void add_dtr_command(const Commands& commands);
void add_config_commands(const Commands& commands);
void add_doctor_command(const Commands& commands);
/// Lists the commands capture, fits, run and links in the help. `hand_over_to_runtime` starts them.
void add_runtime_commands(const Commands& commands);

/// If the command is capture, fits, run or links, replaces this process by the program that runs the command.
/// The Python package runs fits. It also runs the other three if an argument has the form
/// package.module:function; else rematlas-runtime runs them. For all other commands, does nothing. Fails if
/// the program is not found or cannot be started.
Result<void> hand_over_to_runtime(int argc, char** argv);

}  // namespace rematlas
