#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "runtime/capture/capture_shapes.h"
#include "runtime/program/commands.h"
#include "runtime/program/progress_line.h"

namespace rematlas {
namespace {

struct CaptureFlags {
    std::string model, output, device = "cpu", device_profile, host_profile, loss = "output";
    std::string optimizer = "none", optimizer_options;
    std::vector<std::string> inputs;
    int threads = 1, repeats = 9;
    std::uint64_t seed = 1;
    bool from_shapes = false, json = false, quiet = false, progress_json = false;
};

Result<std::optional<Optimizer>> optimizer_from(const CaptureFlags& flags) {
    if (flags.optimizer == "none") {
        if (flags.optimizer_options.empty()) return std::optional<Optimizer>();
        return Error{"capture: --optimizer-options: goes with --optimizer sgd, adam or adamw"};
    }
    if (Result<Optimizer> known = Optimizer::from(flags.optimizer); !known)
        return Error{"capture: --optimizer " + flags.optimizer + ": expected none, sgd, adam or adamw"};
    Result<Optimizer> optimizer = Optimizer::from(flags.optimizer, flags.optimizer_options);
    if (!optimizer) return Error{"capture: --optimizer-options: " + optimizer.error().message};
    return std::optional<Optimizer>(*optimizer);
}

Result<CaptureOptions> options_from(const CaptureFlags& flags) {
    if (flags.device != "meta" && !flags.device_profile.empty())
        return Error{"capture: --device-profile: goes with --device meta"};
    if (flags.device != "meta" && !flags.host_profile.empty())
        return Error{"capture: --host-profile: goes with --device meta"};
    const Result<std::optional<Optimizer>> optimizer = optimizer_from(flags);
    if (!optimizer) return optimizer.error();
    const auto loss = loss_from(flags.loss);
    if (!loss)
        return Error{"capture: --loss " + flags.loss + ": expected output, sum, mean or cross_entropy"};
    CaptureOptions options{
        .loss = *loss, .optimizer = *optimizer, .seed = flags.seed, .threads = flags.threads};
    options.profile.most_replays = flags.repeats;
    options.profile.fewest_replays = std::min(flags.repeats, options.profile.fewest_replays);
    for (const std::string& text : flags.inputs) {
        Result<InputSpec> spec = parse_input_spec(text);
        if (!spec) return Error{"capture: " + spec.error().message};
        options.inputs.push_back(spec.take());
    }
    return options;
}

Result<Graph> capture_on(const CaptureFlags& flags, const CaptureOptions& options) {
    if (flags.device == "meta") {
        if (flags.device_profile.empty())
            return Error{"capture: --device meta: --device-profile names the device to plan for"};
        Result<DeviceProfile> profile = device_profile(flags.device_profile);
        if (!profile) return Error{"capture: --device-profile: " + profile.error().message};
        if (!flags.host_profile.empty()) {
            Result<HostProfile> host = host_profile(flags.host_profile);
            if (!host) return Error{"capture: --host-profile: " + host.error().message};
            profile->host = host.take();
        }
        return capture_for(flags.model, options, *profile);
    }
    Result<std::unique_ptr<DeviceRuntime>> device = open_device(flags.device);
    if (!device) return Error{"capture: " + device.error().message};
    return flags.from_shapes ? capture_op_by_op(flags.model, options, **device)
                             : capture(flags.model, options, **device);
}

Result<Exit> run_capture(const CaptureFlags& flags) {
    Result<CaptureOptions> options = options_from(flags);
    if (!options) return options.error();
    ProgressLine progress(progress_form(flags.quiet, flags.progress_json));
    options->progress = [&](std::string_view stage, double fraction) { progress.show(stage, fraction); };
    const auto began = std::chrono::steady_clock::now();
    Result<Graph> graph = capture_on(flags, *options);
    if (!graph) return graph.error();
    progress.show("write", 1.0);
    if (Result<void> written = write_graph(*graph, flags.output); !written) return written.error();
    progress.clear();

    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const FlatGraph flat = flatten(*graph);
    const SequenceCost cost = cost_of(flat, keep_all_sequence(flat));
    if (flags.json) {
        const nlohmann::json object = {{"graph", flags.output},
                                       {"graph_sha256", graph->sha256},
                                       {"ops", flat.op_count},
                                       {"tensors", flat.tensor_count},
                                       {"time_ns", flat.base_time},
                                       {"peak_bytes", cost.peak},
                                       {"resident_bytes", flat.resident_bytes},
                                       {"capture_seconds", seconds}};
        std::printf("%s\n", object.dump().c_str());
    } else {
        std::printf(
            "%s: %d ops on %d tensors, a step takes %s, peak %s (%s of it resident); captured in %.1f s\n",
            flags.output.c_str(), flat.op_count, flat.tensor_count,
            format_duration(Nanoseconds(flat.base_time)).c_str(), format_bytes(Bytes(cost.peak)).c_str(),
            format_bytes(Bytes(flat.resident_bytes)).c_str(), seconds);
    }
    return Exit::success;
}

}  // namespace

void add_capture_command(CLI::App& app, Body& body) {
    auto flags = std::make_shared<CaptureFlags>();
    CLI::App* command = app.add_subcommand("capture", "Records one training step of a model as a graph");
    command->footer(
        "Example:\n  rematlas capture resnet50.pt --input 'f32[8,3,112,112]' -o resnet50.graph.json");
    command
        ->add_option(
            "model", flags->model,
            "TorchScript file (.pt), traced or scripted, captured in train mode; exported program (.pt2) of "
            "torch.export, captured as it was exported; or package.module:function that returns (model, "
            "args), "
            "recorded by the Python package, see python3 -m rematlas capture --help")
        ->required();
    command
        ->add_option(
            "--input", flags->inputs,
            "dtype[shape], one for each input in order; 'i64[8,256]<4096' bounds integers. int:3, float:0.5, "
            "bool:true, "
            "str:mean and none are given as they are in every step; trailing defaults may be left out. An "
            "exported "
            "program has inputs of its own, which are taken where none is given")
        ->allow_extra_args(false);
    command->add_option("-o,--output", flags->output, "graph file to write")->required();
    command->add_option("--device", flags->device, "cpu, cuda, a GPU by its index (cuda:1), or meta")
        ->capture_default_str();
    command->add_option("--device-profile", flags->device_profile,
                        "with --device meta: the device to plan for");
    command->add_option(
        "--host-profile", flags->host_profile,
        "with --device meta: the host on which updates may run: desktop, workstation, "
        "server_share, grace, or a .json file that `rematlas links` wrote; by default what such "
        "a device mostly has");
    command->add_flag("--from-shapes", flags->from_shapes,
                      "never run the whole step: record from shapes, profile each op alone on the device");
    command->add_option("--loss", flags->loss, "output (the caller's), sum, mean or cross_entropy")
        ->capture_default_str();
    command
        ->add_option("--optimizer", flags->optimizer,
                     "none, sgd, adam or adamw: its fused updates end the step, one op for each parameter")
        ->capture_default_str();
    command->add_option("--optimizer-options", flags->optimizer_options,
                        "lr=0.1,momentum=0.9,...; lr, weight_decay, maximize; sgd: momentum, nesterov; adam, "
                        "adamw: beta1, beta2, eps, amsgrad; what is not given is as in torch.optim");
    command->add_option("--threads", flags->threads, "threads of libtorch, here and in later runs")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command
        ->add_option("--repeats", flags->repeats, "the most steps that are replayed for the times of the ops")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--seed", flags->seed, "seed of the inputs' values and of the model's random numbers")
        ->capture_default_str();
    command->add_flag("--json", flags->json, "print one object");
    command->add_flag("--quiet", flags->quiet, "no progress");
    command->add_flag("--progress-json", flags->progress_json, "progress as JSON lines on standard error");
    command->callback([flags, &body] { body = [flags] { return run_capture(*flags); }; });
}

}  // namespace rematlas
