#include "runtime/program/run_evicting.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/dtr/eviction_names.h"
#include "runtime/program/comparison_fields.h"
#include "runtime/program/progress_line.h"
#include "runtime/replay/chrome_trace.h"
#include "runtime/verify/evicted_run.h"

namespace rematlas {
namespace {

Error wrong(const std::string& what) {
    return {"run: " + what};
}

Result<Budget> budget_from(const RunFlags& flags) {
    if (flags.budget.empty()) return wrong("--evict: --budget is required: how many bytes the step may take");
    Result<Budget> budget = parse_budget(flags.budget);
    if (!budget) return wrong("--budget: " + budget.error().message);
    if (budget->of != Budget::Of::nothing && !flags.verify)
        return wrong("--budget: '" + flags.budget +
                     "': nobody knows a step's peak before it runs; give bytes, or --verify, which runs the "
                     "original first");
    return budget;
}

Result<EvictedOptions> options_from(const RunFlags& flags) {
    if (!flags.plan.empty())
        return wrong("--evict: goes without a plan, and '" + flags.plan + "' is given as one");
    if (flags.cuda_graphs) return wrong("--cuda-graphs: goes with a plan, not with --evict");
    Result<Budget> budget = budget_from(flags);
    if (!budget) return budget.error();
    const auto loss = loss_from(flags.loss.empty() ? "output" : flags.loss);
    if (!loss) return wrong("--loss " + flags.loss + ": expected output, sum, mean or cross_entropy");
    EvictedOptions options{
        .loss = *loss, .budget = budget.take(), .steps = flags.steps, .verify = flags.verify};
    options.record = !flags.record.empty() || !flags.trace.empty();
    options.seed = flags.seed;
    if (flags.threads > 0) options.threads = flags.threads;
    options.policy = {{"heuristic", flags.heuristic.empty() ? "dtr-eq" : flags.heuristic},
                      {"deallocation", flags.deallocation.empty() ? "eager" : flags.deallocation}};
    if (flags.thrash > 0) options.policy["thrash"] = flags.thrash;
    for (const std::string& text : flags.inputs) {
        Result<InputSpec> spec = parse_input_spec(text);
        if (!spec) return wrong(spec.error().message);
        options.inputs.push_back(spec.take());
    }
    return options;
}

nlohmann::json to_json(const EvictedReport& report, const RunFlags& flags) {
    nlohmann::json object = {{"steps", report.steps.size()},
                             {"budget_bytes", report.budget.value},
                             {"measured_peak_bytes", report.measured_peak.value},
                             {"ops", report.calls},
                             {"overhead_measured", report.rerun_overhead},
                             {"verified", flags.verify ? nlohmann::json(report.verified) : nlohmann::json()}};
    for (const EvictedReport::Step& step : report.steps) {
        object["step_seconds"].push_back(step.seconds);
        object["evictions"].push_back(step.evictions);
        object["rematerializations"].push_back(step.reruns);
        object["peak_bytes"].push_back(step.peak.value);
    }
    if (report.record) {
        object["record"] = {{"peak_bytes", report.record->schedule.peak.value},
                            {"counted_peak_bytes", report.record->counted_peak.value}};
        if (!flags.record.empty()) {
            object["record"]["graph"] = flags.record + ".graph.json";
            object["record"]["schedule"] = flags.record + ".schedule.json";
        }
    }
    if (flags.verify) add_comparison(object, report);
    return object;
}

void print(const EvictedReport& report, const RunFlags& flags) {
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        const EvictedReport::Step& step = report.steps[i];
        std::printf("step %zu      %.1f ms, %lld evictions, %lld ops run again\n", i + 1, step.seconds * 1e3,
                    static_cast<long long>(step.evictions), static_cast<long long>(step.reruns));
    }
    std::printf("peak        %s measured, budget %s\n", format_bytes(report.measured_peak).c_str(),
                format_bytes(report.budget).c_str());
    std::printf("overhead    x%.3f: time of all runs of ops over that of their first runs\n",
                report.rerun_overhead);
    if (flags.verify) {
        std::printf("original    peak %s; eviction takes x%.3f of its time (median of %zu pairs)\n",
                    format_bytes(report.original_peak).c_str(), report.time_ratio_to_eager,
                    report.steps.size());
        std::printf("verified    %s\n",
                    report.verified ? "yes: outputs, gradients, buffers and random state are identical"
                                    : ("no: " + report.mismatch).c_str());
    }
    if (!flags.record.empty())
        std::printf("recorded    the last step: %s.graph.json and %s.schedule.json\n", flags.record.c_str(),
                    flags.record.c_str());
}

Result<void> write_files(EvictedReport& report, const RunFlags& flags) {
    if (!report.record) return {};
    if (!flags.trace.empty()) {
        const std::string text =
            chrome_trace(report.record->graph, report.record->schedule.steps, report.record->measures);
        if (Result<void> written = write_file(flags.trace, text); !written) return written;
    }
    return flags.record.empty() ? Result<void>() : write_step(*report.record, flags.record);
}

}  // namespace

Result<Exit> run_evicting(const RunFlags& flags) {
    Result<EvictedOptions> options = options_from(flags);
    if (!options) return options.error();
    if (!flags.record.empty())
        if (Result<void> can = check_can_write(flags.record + ".graph.json"); !can) return can.error();
    if (!flags.trace.empty())
        if (Result<void> can = check_can_write(flags.trace); !can) return can.error();
    Result<std::unique_ptr<DeviceRuntime>> device = open_device(flags.device);
    if (!device) return wrong(device.error().message);
    ProgressLine progress(progress_form(flags.quiet, flags.progress_json));
    options->progress = [&](std::string_view stage, double fraction) { progress.show(stage, fraction); };
    Result<EvictedReport> report = train_evicting(flags.model, *options, **device);
    progress.clear();
    if (!report) return report.error();
    if (Result<void> written = write_files(*report, flags); !written) return written.error();
    if (flags.json) {
        std::printf("%s\n", to_json(*report, flags).dump().c_str());
    } else {
        print(*report, flags);
    }
    return flags.verify && !report->verified ? Exit::negative : Exit::success;
}

void add_evict_flags(CLI::App& command, RunFlags& flags) {
    command.add_flag("--evict", flags.evict, "train without a plan, under online eviction; with --budget");
    command.add_option(
        "--budget", flags.budget,
        "with --evict: bytes of all tensors (2GiB); with --verify also 60%, of the original's peak");
    command
        .add_option("--input", flags.inputs, "with --evict: dtype[shape], one for each input, as for capture")
        ->allow_extra_args(false);
    command.add_option("--loss", flags.loss,
                       "with --evict: output (the caller's, default), sum, mean or cross_entropy");
    command
        .add_option("--heuristic", flags.heuristic, "with --evict: what is evicted first; dtr-eq by default")
        ->check(CLI::IsMember(words_of(kHeuristicNames)));
    command
        .add_option("--deallocation", flags.deallocation,
                    "with --evict: what becomes of what the model drops; eager by default")
        ->check(CLI::IsMember(words_of(kDeallocationNames)));
    command
        .add_option(
            "--thrash", flags.thrash,
            "with --evict: gives up when a step's reruns take this multiple of its time; 20 by default")
        ->check(CLI::Range(1.0, 1e6));
    command.add_option("--threads", flags.threads, "with --evict: threads of libtorch; 1 by default")
        ->check(CLI::Range(1, 1024));
    command.add_option("--record", flags.record,
                       "with --evict: write the last step as NAME.graph.json and NAME.schedule.json");
}

}  // namespace rematlas
