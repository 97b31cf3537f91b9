// Reads the arguments of commands: the graph of a schedule, a budget for a graph, flags.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/sizes.h"
#include "core/graph/graph.h"
#include "core/planning/file_kind.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns the kind of a file: graph, schedule, plan, sweep or an answer of fits. Fails if the file cannot be
/// opened or is none of these.
Result<FileKind> our_file(const std::filesystem::path& path);

/// Fails if `out` is one of the input files, which would be lost.
Result<void> check_is_no_input(const std::string& out, std::initializer_list<std::string> inputs);

/// Reads the schedule in the file. If the file has another kind, fails with a hint on what can be done with
/// it.
Result<Schedule> schedule_in(const std::filesystem::path& path);

/// Returns `graph_path` if it is not empty. Otherwise searches the schedule's folder for the graph file with
/// the digest that the schedule names. Fails if there is no such file.
Result<std::filesystem::path> graph_file_for(const Schedule& schedule,
                                             const std::filesystem::path& schedule_path,
                                             const std::string& graph_path);

/// Reads the graph in the file that `graph_file_for` returns.
Result<Graph> graph_for(const Schedule& schedule, const std::filesystem::path& schedule_path,
                        const std::string& graph_path);

/// Reads the graph of a sweep from `graph_path`. If this path is empty, searches the sweep's folder for the
/// graph file with the digest that the sweep names. Returns nullopt if the folder has no such file.
Result<std::optional<Graph>> graph_if_known(const Sweep& sweep, const std::filesystem::path& sweep_path,
                                            const std::string& graph_path);

/// Parse the value of --budget. Return the budget, or the bytes of this budget for a step. Errors name the
/// flag.
Result<Budget> budget_flag(const std::string& text);
Result<Bytes> budget_flag(const std::string& text, const StepBytes& step);

/// Returns the parts of a list that commas separate.
std::vector<std::string> parts_of(const std::string& list);

/// Validators for the function `check` of an option. CLI11's own validators accept nan, a sign before an
/// unsigned number, and an overflow. `number_between` refuses nan; `unsigned_number` refuses signs and
/// overflows.
CLI::Validator number_between(double least, double most);
CLI::Validator unsigned_number();

/// Returns the duration that `text` means. Fails if it is not above 0. Errors name the flag.
Result<Nanoseconds> duration_flag(const char* flag, const std::string& text);

/// Returns the value of `--gap text` as a share from 0 to 1. `text` is for example 0.1% or 0.001. Errors name
/// the flag.
Result<double> gap_flag(const std::string& text);

}  // namespace rematlas
