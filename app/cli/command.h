// What all commands share: flags, exit status and how an answer is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/exit.h"
#include "core/base/result.h"

namespace rematlas {

struct OutputFlags {
    bool json = false;   ///< one object on standard output
    bool quiet = false;  ///< no progress on standard error

    bool shows_progress() const;  ///< not quiet, and standard error is a terminal
};

/// A sub-command that runs `body` when it is chosen; the exit status goes to `exit`.
/// `body` returns Exit::success or Exit::negative, or an error, which is printed as one line.
struct Commands {
    CLI::App& app;
    Exit& exit;

    CLI::App* add(const std::string& name, const std::string& summary, const std::string& example,
                  OutputFlags& flags, std::function<Result<Exit>()> body) const;
};

/// "rematlas: message" on standard error, exit 1 or 2.
Exit fail(const Error& error);

void print_json(const nlohmann::json& object);

void add_graph_commands(const Commands& commands);  ///< inspect, decompose
void add_solve_commands(const Commands& commands);  ///< solve, sweep
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
    const Commands& commands);  ///< capture, run: named here, done by the runtime program

/// Replaces this process when `argv[1]` is capture or run: by the runtime program, or by the Python package
/// where a word is package.module:function. Returns otherwise, and with an error when neither can be started.
Result<void> hand_over_to_runtime(int argc, char** argv);

}  // namespace rematlas
