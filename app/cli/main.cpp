// The command line of rematlas. docs/reference/commands.md describes the commands and their options.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/built_in.h"
#include "app/cli/command.h"
#include "core/base/limits_of_the_process.h"
#include "core/base/one_line.h"

namespace rematlas {

bool OutputFlags::shows_progress() const {
    return !quiet && ::isatty(STDERR_FILENO);
}

Exit fail(const Error& error) {
    std::cerr << "rematlas: " << on_one_line(error.message) << '\n';
    return error.kind == ErrorKind::negative ? Exit::negative : Exit::wrong_input;
}

void print_json(const nlohmann::json& object) {
    std::cout << object.dump(1) << '\n';
}

namespace {

[[gnu::constructor(101)]] void begin() {
    end_with_a_line_at_limits();
}

/// Fails if an argument of the command is empty. An empty argument probably comes from a variable of a script
/// that was not set, and the command must not use the default instead.
Result<void> told_something(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options())
        for (const std::string& word : option->results())
            if (word.empty()) return Error{option->get_name() + " is empty"};
    return {};
}

}  // namespace

CLI::App* Commands::add(const std::string& name, const std::string& summary, const std::string& example,
                        OutputFlags& flags, std::function<Result<Exit>()> body) const {
    CLI::App* command = app.add_subcommand(name, summary);
    command->footer("Example:\n  " + example);
    command->add_flag("--json", flags.json, "print one machine-readable object");
    command->add_flag("--quiet", flags.quiet, "no progress on standard error");
    command->callback([body = std::move(body), &exit = exit, command] {
        const Result<void> told = told_something(*command);
        const Result<Exit> done = told ? body() : told.error();
        exit = done ? *done : fail(done.error());
    });
    return command;
}

}  // namespace rematlas

int main(int argc, char** argv) {
    using namespace rematlas;
    if (const Result<void> handed = hand_over_to_runtime(argc, argv); !handed)
        return static_cast<int>(fail(handed.error()));

    CLI::App app{"Plans the memory of neural-network training: what to keep, what to recompute."};
    app.name("rematlas");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(
        "Sizes: 2GiB, 512MiB, 1500MB, 4096; a budget may be 60% of the peak without recomputation.\n"
        "Exit: 0 success, 1 the answer is no (infeasible, check failed), 2 wrong usage or input.");
    Exit exit = Exit::success;
    const Commands commands{app, exit};
    add_runtime_commands(commands);
    add_graph_commands(commands);
    add_solve_commands(commands);
    add_maxbatch_command(commands);
    add_check_command(commands);
    add_export_command(commands);
    add_diff_command(commands);
    add_draw_command(commands);
    add_report_command(commands);
    add_serve_command(commands);
    add_dtr_command(commands);
    add_config_commands(commands);
    add_doctor_command(commands);
    const auto is_chosen = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && std::as_const(app).get_subcommands(is_chosen).empty()) {
        return static_cast<int>(fail(
            Error{"'" + std::string(argv[1]).substr(0, 60) + "' is not a command (see rematlas --help)"}));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& failure) {
        if (failure.get_exit_code() == 0) return app.exit(failure);
        return static_cast<int>(fail(Error{failure.what() + std::string(" (see rematlas --help)")}));
    } catch (const std::bad_alloc&) {
        return static_cast<int>(fail(Error{"out of memory"}));
    }
    std::cout.flush();
    if (!std::cout) return static_cast<int>(fail(Error{"standard output: cannot write"}));
    return static_cast<int>(exit);
}
