// Reading what a command is given: a graph for a schedule, a budget for a graph.
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

/// A graph, a schedule, a plan or a sweep. Errors: a file that cannot be opened, or is none of these.
Result<FileKind> our_file(const std::filesystem::path& path);

/// Errors: `out` is one of the files that are read, which would be lost.
Result<void> check_is_no_input(const std::string& out, std::initializer_list<std::string> inputs);

/// The schedule in that file. Errors: also a file of another kind, with what can be done with it.
Result<Schedule> schedule_in(const std::filesystem::path& path);

/// The graph file given, or the one beside the schedule that has the digest it names.
Result<std::filesystem::path> graph_file_for(const Schedule& schedule,
                                             const std::filesystem::path& schedule_path,
                                             const std::string& graph_path);

/// The graph in that file.
Result<Graph> graph_for(const Schedule& schedule, const std::filesystem::path& schedule_path,
                        const std::string& graph_path);

/// The graph of a sweep, found in the same way; none where none is named and none lies beside it.
Result<std::optional<Graph>> graph_if_known(const Sweep& sweep, const std::filesystem::path& sweep_path,
                                            const std::string& graph_path);

/// The budget that `--budget text` means, and its bytes for a step; the error names the flag.
Result<Budget> budget_flag(const std::string& text);
Result<Bytes> budget_flag(const std::string& text, const StepBytes& step);

/// What stands between commas.
std::vector<std::string> parts_of(const std::string& list);

/// For `check` of an option. Unlike those of CLI11 they refuse nan, and a sign or an overflow where the
/// number is unsigned.
CLI::Validator number_between(double least, double most);
CLI::Validator unsigned_number();

/// The error names the flag.
Result<Nanoseconds> duration_flag(const char* flag, const std::string& text);

/// The share that `--gap text` means: 0.1% or 0.001, from 0 to 1; the error names the flag.
Result<double> gap_flag(const std::string& text);

}  // namespace rematlas
