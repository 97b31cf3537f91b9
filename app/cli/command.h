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

/// Adds sub-commands. The sub-command that the user chose runs its `body`, and its exit status is stored in
/// `exit`. `body` returns Exit::success or Exit::negative, or an error, which is printed as one line.
struct Commands {
    CLI::App& app;
    Exit& exit;

    CLI::App* add(const std::string& name, const std::string& summary, const std::string& example,
                  OutputFlags& flags, std::function<Result<Exit>()> body) const;
};

/// Prints "rematlas: message" to standard error and returns the exit status 1 or 2.
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
void add_runtime_commands(
    const Commands& commands);  ///< capture, fits, run, links: only listed here; another program runs them

/// Hands the commands capture, fits, run and links over to other programs, by replacing this process. The
/// Python package runs fits, and every command with an argument of the form package.module:function;
/// rematlas-runtime runs the rest. For all other commands, does nothing. Fails if the program cannot be
/// started.
Result<void> hand_over_to_runtime(int argc, char** argv);

}  // namespace rematlas
