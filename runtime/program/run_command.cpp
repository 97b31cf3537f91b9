#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/sizes.h"
#include "runtime/program/commands.h"
#include "runtime/program/comparison_fields.h"
#include "runtime/program/progress_line.h"
#include "runtime/program/run_evicting.h"
#include "runtime/replay/chrome_trace.h"
#include "runtime/torch_versions/running_version.h"
#include "runtime/verify/plan_run.h"

namespace rematlas {
namespace {

nlohmann::json to_json(const RunReport& report, const RunFlags& flags) {
    const bool verify = flags.verify;
    nlohmann::json object = {{"steps", report.steps},
                             {"step_seconds", report.step_seconds},
                             {"predicted_peak_bytes", report.predicted_peak.value},
                             {"measured_peak_bytes", report.measured_peak.value},
                             {"budget_bytes", report.budget.value},
                             {"arena_bytes", report.memory.arena_bytes},
                             {"system_allocations_per_step", report.memory.system_allocations},
                             {"overhead_predicted", report.overhead_predicted},
                             {"overhead_measured", report.overhead_measured},
                             {"verified", verify ? nlohmann::json(report.verified) : nlohmann::json()}};
    if (report.room) {
        object["allocated_peak_bytes"] = report.room->allocated.value;
        object["reserved_peak_bytes"] = report.room->reserved.value;
        object["device_bytes"] = report.room->device().value;
    }
    if (report.measured_host_peak) {
        object["host_predicted_peak_bytes"] = report.predicted_host_peak.value_or(Bytes()).value;
        object["host_measured_peak_bytes"] = report.measured_host_peak->value;
        object["host_slab_bytes"] = report.slab.value;
    }
    if (report.host_runs > 0) object["host_runs"] = report.host_runs;
    if (verify && report.updates_on_host) object["original_updates_on_host"] = true;
    if (flags.cuda_graphs) object["cuda_graphs"] = report.cuda_graphs;
    if (!report.why_no_cuda_graphs.empty()) object["why_no_cuda_graphs"] = report.why_no_cuda_graphs;
    if (verify) add_comparison(object, report);
    return object;
}

void print(const RunReport& report, bool verify) {
    for (std::size_t i = 0; i < report.step_seconds.size(); ++i)
        std::printf("step %zu      %.1f ms\n", i + 1, report.step_seconds[i] * 1e3);
    std::printf("peak        %s predicted, %s measured", format_bytes(report.predicted_peak).c_str(),
                format_bytes(report.measured_peak).c_str());
    if (report.budget.value > 0) std::printf(", budget %s", format_bytes(report.budget).c_str());
    if (report.room)
        std::printf(
            "\ndevice      %s needed: %s in segments of the allocator, %s for the driver and other processes",
            format_bytes(report.room->device()).c_str(), format_bytes(report.room->reserved).c_str(),
            format_bytes(report.room->context).c_str());
    if (report.measured_host_peak)
        std::printf("\nhost        %s predicted, %s measured, in %s set aside",
                    format_bytes(report.predicted_host_peak.value_or(Bytes())).c_str(),
                    format_bytes(*report.measured_host_peak).c_str(), format_bytes(report.slab).c_str());
    if (report.host_runs > 0) std::printf("\non host     %zu ops in each step", report.host_runs);
    if (report.memory.arena_bytes > 0)
        std::printf(
            "\narena       %s at planned addresses; %lld allocations from the system in the last step",
            format_bytes(Bytes(report.memory.arena_bytes)).c_str(),
            static_cast<long long>(report.memory.system_allocations));
    std::printf("\noverhead    x%.3f predicted, x%.3f measured\n", report.overhead_predicted,
                report.overhead_measured);
    if (report.cuda_graphs) std::printf("graphs      each step was submitted as CUDA graphs\n");
    if (!report.why_no_cuda_graphs.empty())
        std::printf("graphs      none, plain replay: %s\n", report.why_no_cuda_graphs.c_str());
    if (!verify) return;
    std::printf("original    peak %s; the plan takes x%.3f of its time (median of %d pairs)\n",
                format_bytes(report.original_peak).c_str(), report.time_ratio_to_eager, report.steps);
    const std::string compared = report.optimizer.empty()
                                     ? "outputs, gradients, buffers"
                                     : "outputs, parameters, buffers, states of " + report.optimizer;
    if (report.updates_on_host)
        std::printf(
            "            what the plan updates on the host, the original updates there too: the CPU's kernel "
            "may give other bits than the GPU's\n");
    std::printf("verified    %s\n", report.verified
                                        ? ("yes: " + compared + " and random state are identical").c_str()
                                        : ("no: " + report.mismatch).c_str());
}

Result<void> check_form(const RunFlags& flags) {
    if (flags.plan.empty())
        return Error{
            "run: plan is required: x.plan or s.schedule.json; or --evict --budget 2GiB, without a plan"};
    const std::pair<bool, const char*> only_evicting[] = {{!flags.budget.empty(), "--budget"},
                                                          {!flags.inputs.empty(), "--input"},
                                                          {!flags.loss.empty(), "--loss"},
                                                          {!flags.heuristic.empty(), "--heuristic"},
                                                          {!flags.deallocation.empty(), "--deallocation"},
                                                          {flags.thrash > 0, "--thrash"},
                                                          {flags.threads > 0, "--threads"},
                                                          {!flags.record.empty(), "--record"}};
    for (const auto& [given, flag] : only_evicting)
        if (given) return Error{std::string("run: ") + flag + ": goes with --evict; the plan has its own"};
    return {};
}

/// Refuses a plan that was made with another minor version of torch, because the ops of the running version
/// perhaps compute other bits. With --verify the plan is accepted.
Result<void> check_version(const Plan& plan, bool verify) {
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json& origin =
        plan.graph.provenance && plan.graph.provenance->is_object() ? *plan.graph.provenance : none;
    const std::string then = origin.value("torch", running_torch_version()), now = running_torch_version();
    if (verify || minor_torch_version(then) == minor_torch_version(now)) return {};
    return Error{"run: the plan was made with torch " + then + ", and this is torch " + now +
                 ": --verify runs it beside the original and compares every bit; or capture the model again"};
}

Result<Exit> run_run(const RunFlags& flags) {
    if (flags.evict) return run_evicting(flags);
    if (Result<void> form = check_form(flags); !form) return form.error();
    if (flags.cuda_graphs && !flags.device.starts_with("cuda"))
        return Error{"run: --cuda-graphs: needs --device cuda"};
    Result<std::unique_ptr<DeviceRuntime>> device = open_device(flags.device);
    if (!device) return Error{"run: " + device.error().message};
    Result<Plan> plan = read_plan_or_schedule(flags.plan);
    if (!plan) return plan.error();
    if (Result<void> version = check_version(*plan, flags.verify); !version) return version.error();
    ProgressLine progress(progress_form(flags.quiet, flags.progress_json));
    RunOptions options{
        .steps = flags.steps, .verify = flags.verify, .trace = !flags.trace.empty(), .seed = flags.seed};
    options.cuda_graphs = flags.cuda_graphs;
    options.progress = [&](std::string_view stage, double fraction) { progress.show(stage, fraction); };
    Result<RunReport> report = run_plan(*plan, flags.model, options, **device);
    progress.clear();
    if (!report) return report.error();
    if (options.trace) {
        const std::string text = chrome_trace(plan->graph, plan->schedule.steps, report->trace);
        if (Result<void> written = write_file(flags.trace, text); !written) return written.error();
    }
    if (flags.json) {
        std::printf("%s\n", to_json(*report, flags).dump().c_str());
    } else {
        print(*report, flags.verify);
    }
    return flags.verify && !report->verified ? Exit::negative : Exit::success;
}

}  // namespace

void add_run_command(CLI::App& app, Body& body) {
    auto flags = std::make_shared<RunFlags>();
    CLI::App* command = app.add_subcommand(
        "run",
        "Executes a plan, or a schedule with its graph beside it, against the model; with --evict, trains it "
        "without a plan: what was computed is dropped where memory is short, and computed again");
    command->footer(
        "Examples:\n  rematlas run resnet50.pt resnet50.plan --steps 5 --verify\n"
        "  rematlas run resnet50.pt --evict --budget 2GiB --input 'f32[8,3,112,112]' --record last");
    command
        ->add_option(
            "model", flags->model,
            "TorchScript file or exported program; of a plan made in Python, package.module:function that "
            "returns (model, args)")
        ->required();
    command->add_option(
        "plan", flags->plan,
        "x.plan, or s.schedule.json whose graph file lies in the same folder; none with --evict");
    command->add_option("--device", flags->device, "cpu, cuda, or a GPU by its index: cuda:1")
        ->capture_default_str();
    command->add_option("--steps", flags->steps, "training steps, each with other data")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    command->add_option("--seed", flags->seed, "seed of the inputs' values and of the model's random numbers")
        ->capture_default_str();
    command->add_flag("--verify", flags->verify,
                      "run the original too (it must fit into memory) and compare bit by bit");
    command->add_flag("--cuda-graphs", flags->cuda_graphs,
                      "capture the step once and submit it as CUDA graphs, where its ops allow it");
    command->add_option("--trace", flags->trace, "Chrome trace of one step to write");
    add_evict_flags(*command, *flags);
    command->add_flag("--json", flags->json, "print one object");
    command->add_flag("--quiet", flags->quiet, "no progress");
    command->add_flag("--progress-json", flags->progress_json, "progress as JSON lines on standard error");
    command->callback([flags, &body] { body = [flags] { return run_run(*flags); }; });
}

}  // namespace rematlas
