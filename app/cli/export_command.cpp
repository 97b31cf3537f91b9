// rematlas export
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/planning/checkpoint_policy.h"
#include "core/planning/lines_to_paste.h"
#include "core/planning/sweep.h"
#include "core/schedule/export.h"
#include "core/schedule/schedule_file.h"
#include "viz/report/tables.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct ExportFlags {
    std::string file, graph, format = "plan", table, out;  // an empty `table` means the table of steps
    bool lines = false;
};

Result<std::string> table_text(const std::string& table, const Graph& graph, const Schedule& schedule) {
    if (table == "blocks") return block_table(graph, schedule);
    if (table == "tensors") return tensor_table(graph, schedule);
    return step_table(graph, schedule);
}

Result<std::string> other_form(const ExportFlags& flags, const Graph& graph, const Schedule& schedule) {
    if (flags.format == "chrome-trace") return chrome_trace(graph, schedule);
    if (flags.format == "csv") return table_text(flags.table, graph, schedule);
    return dot_graph(graph, schedule);
}

bool is_policy(const ExportFlags& flags) {
    return flags.format == "policy" || flags.format == "torchtitan";
}

/// Solves the step again with only the decisions that a policy can express, and writes the policy. Adds the
/// costs of the policy to the answer `told`.
Result<void> export_policy(const ExportFlags& flags, const Graph& graph, const Schedule& schedule,
                           json& told) {
    const bool torchtitan = flags.format == "torchtitan";
    const Result<CheckpointPolicy> policy =
        checkpoint_policy_for(graph, schedule, {}, {.by_selectors = torchtitan});
    if (!policy) return policy.error();
    const Solution& solution = policy->plan.solution;
    told["peak_bytes"] = solution.peak.value;
    told["budget_bytes"] = policy->budget.value;
    told["overhead"] = solution.overhead;
    told["regions"] = policy->plan.regions.size();
    return write_file(flags.out, torchtitan ? torchtitan_text(graph, *policy) : policy_text(graph, *policy));
}

/// Adds to the answer `told` the lines of code that the user must paste, and where to paste them.
void tell_lines(const ExportedFile& exported, json& told) {
    for (const LinesToPaste& lines : lines_to_paste(exported))
        told["lines"].push_back({{"where", to_string(lines.place)}, {"text", lines.text}});
}

Result<void> write_form(const ExportFlags& flags, const std::filesystem::path& graph_file, const Graph& graph,
                        const Schedule& schedule, json& told) {
    if (flags.format == "plan") {
        const Result<std::string> bytes = read_file(graph_file);
        if (!bytes) return bytes.error();
        return write_plan(*bytes, schedule, flags.out);
    }
    if (flags.format == "schedule") return write_schedule(schedule, flags.out);
    if (is_policy(flags)) return export_policy(flags, graph, schedule, told);
    const Result<std::string> text = other_form(flags, graph, schedule);
    if (!text) return text.error();
    return write_file(flags.out, *text);
}

Result<void> export_schedule(const ExportFlags& flags, json& told) {
    const Result<Schedule> schedule = schedule_in(flags.file);
    if (!schedule) return schedule.error();
    const Result<std::filesystem::path> graph_file = graph_file_for(*schedule, flags.file, flags.graph);
    if (!graph_file) return graph_file.error();
    const Result<Graph> graph = read_graph(*graph_file);
    if (!graph) return graph.error();
    if (const CheckReport report = check(*graph, *schedule); !report.ok())
        return Error{flags.file + ": " + report.violations.front(), ErrorKind::negative};
    if (const Result<void> written = write_form(flags, *graph_file, *graph, *schedule, told); !written)
        return written.error();
    if (const std::optional<ExportForm> form = export_form_from(flags.format))
        tell_lines({.form = *form,
                    .file = flags.out,
                    .graph = &*graph,
                    .graph_file = graph_file->string(),
                    .schedule = &*schedule,
                    .checkpoints = told.value("regions", 1) > 0},
                   told);
    return {};
}

Result<void> export_sweep(const ExportFlags& flags, json& told) {
    if (flags.format != "csv")
        return Error{flags.file + ": is a sweep, which can be exported as a table only (--format csv)"};
    const Result<Sweep> sweep = read_sweep(flags.file);
    if (!sweep) return sweep.error();
    tell_lines({.form = ExportForm::csv, .file = flags.out}, told);
    return write_file(flags.out, point_table(*sweep));
}

Result<void> table_is_used(const ExportFlags& flags, bool is_sweep) {
    if (flags.table.empty()) return {};
    if (is_sweep)
        return Error{"--table: " + flags.file + " is a sweep, whose only table is that of its points"};
    if (flags.format != "csv") return Error{"--table: goes with --format csv, not with " + flags.format};
    return {};
}

const char* where_to_paste(const std::string& place) {
    if (place == "program") return "In the training program:";
    if (place == "forward") return "Or in a forward that checkpoints its blocks itself:";
    return "In a shell:";
}

void print_lines(const json& all) {
    for (const json& lines : all)
        std::printf("%s\n\n%s\n", where_to_paste(lines["where"]), lines["text"].get<std::string>().c_str());
}

Result<Exit> export_command(const ExportFlags& flags, const OutputFlags& output) {
    if (const Result<void> other = check_is_no_input(flags.out, {flags.file, flags.graph}); !other)
        return other.error();
    const Result<FileKind> kind = our_file(flags.file);
    const bool is_sweep = kind && *kind == FileKind::sweep;
    if (const Result<void> used = table_is_used(flags, is_sweep); !used) return used.error();
    json told = {{"file", flags.out}, {"format", flags.format}, {"lines", json::array()}};
    const Result<void> written = is_sweep ? export_sweep(flags, told) : export_schedule(flags, told);
    if (!written) return written.error();
    if (output.json) print_json(told);
    if (!output.json && is_policy(flags))
        std::printf("%s: %d regions; peak %s of a budget of %s, overhead %.4f with selective checkpointing\n",
                    flags.out.c_str(), told["regions"].get<int>(),
                    format_bytes(Bytes(told["peak_bytes"].get<std::int64_t>())).c_str(),
                    format_bytes(Bytes(told["budget_bytes"].get<std::int64_t>())).c_str(),
                    told["overhead"].get<double>());
    if (!output.json && flags.lines) print_lines(told["lines"]);
    return Exit::success;
}

}  // namespace

void add_export_command(const Commands& commands) {
    static OutputFlags output;
    static ExportFlags flags;
    CLI::App* app =
        commands.add("export",
                     "write a schedule as a plan for training, as selective checkpointing for PyTorch "
                     "or torchtitan, as a trace, a table or a graph; or a sweep as a table",
                     "rematlas export gpt12.schedule.json -o gpt12.plan", output,
                     [] { return export_command(flags, output); });
    app->add_option("file", flags.file, "a .schedule.json file, or a .sweep.json file (--format csv)")
        ->required();
    app->add_option("--graph", flags.graph,
                    "its graph (default: the file beside it with the digest it names)");
    app->add_option(
           "--format", flags.format,
           "plan, schedule, policy, torchtitan, chrome-trace, csv or dot; policy and torchtitan solve "
           "again, within what selective checkpointing can do at the schedule's budget")
        ->check(CLI::IsMember({"plan", "schedule", "policy", "torchtitan", "chrome-trace", "csv", "dot"}))
        ->capture_default_str();
    app->add_option("--table", flags.table,
                    "with --format csv of a schedule: steps (default), blocks or tensors")
        ->check(CLI::IsMember({"steps", "blocks", "tensors"}));
    app->add_flag(
        "--lines", flags.lines,
        "print the lines to paste that make use of the file: into the training program, or a shell");
    app->add_option("-o,--output", flags.out, "the file to write")->required();
}

}  // namespace rematlas
