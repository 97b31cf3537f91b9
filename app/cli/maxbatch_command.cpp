// rematlas maxbatch
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/cli/capture_process.h"
#include "app/cli/command.h"
#include "app/cli/copy_flags.h"
#include "app/cli/interrupt.h"
#include "app/cli/reading.h"
#include "app/programs/python_package.h"
#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/graph/graph_file.h"
#include "core/planning/batch_inputs.h"
#include "core/planning/largest_batch.h"
#include "core/planning/registry.h"
#include "core/schedule/schedule_file.h"
#include "core/solvers/checkmate/checkmate.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct MaxBatchFlags {
    std::string model, budget, device = "cpu", device_profile, host_profile, loss = "output",
                               solver = "atlas", time_limit = "60s", out, optimizer = "none",
                               optimizer_options, master_weights, vary;
    std::vector<std::string> inputs;
    double max_overhead = 0;
    std::int64_t most = 65536;
    CopyFlags copies;

    bool is_function() const { return names_python_function(model); }
    /// Returns the keyword of the function whose value is varied; "batch" if the user named none.
    std::string varies() const { return vary.empty() ? "batch" : vary; }
};

/// A temporary folder for the captured graphs. The destructor removes it.
class TemporaryFolder {
  public:
    static Result<TemporaryFolder> create() {
        std::string name = (std::filesystem::temp_directory_path() / "rematlas-XXXXXX").string();
        if (!::mkdtemp(name.data())) return Error{name + ": cannot be created"};
        return TemporaryFolder(name);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

/// Says whether the device profile describes the device of the capture. If the capture uses a real device and
/// copies are planned, only the links of the profile are used, as in `rematlas solve`.
bool is_of_capture(const MaxBatchFlags& flags) {
    return !flags.device_profile.empty() && (flags.device == "meta" || flags.copies.offload == "none");
}

/// Returns the copies that the flags ask for. If the profile does not describe the device of the capture, the
/// copies use the links of the profile.
Result<Copies> copies_of(const MaxBatchFlags& flags) {
    CopyFlags copies = flags.copies;
    if (!is_of_capture(flags)) copies.device_profile = flags.device_profile;
    if (flags.device == "cpu" && copies.offload != "none" && copies.device_profile.empty())
        return Error{
            "--offload: a cpu has no links to a host; --device-profile names some (pcie4, h200, ...)"};
    return copies_from(copies);
}

std::vector<std::string> capture_arguments(const MaxBatchFlags& flags, std::int64_t batch) {
    std::vector<std::string> words{flags.model, "--optimizer", flags.optimizer};
    if (!flags.optimizer_options.empty())
        words.insert(words.end(), {"--optimizer-options", flags.optimizer_options});
    if (!flags.master_weights.empty()) words.insert(words.end(), {"--master-weights", flags.master_weights});
    if (is_of_capture(flags)) words.insert(words.end(), {"--device-profile", flags.device_profile});
    if (!flags.host_profile.empty()) words.insert(words.end(), {"--host-profile", flags.host_profile});
    if (flags.is_function()) {
        if (flags.device == "meta") words.insert(words.end(), {"--device", "meta"});
        words.insert(words.end(), {"--set", flags.varies() + "=" + std::to_string(batch)});
        return words;
    }
    words.insert(words.end(), {"--device", flags.device, "--loss", flags.loss});
    for (const std::string& input : flags.inputs) {
        words.emplace_back("--input");
        words.push_back(at_batch(input, batch));
    }
    return words;
}

Result<LargestBatchOptions> options_from(const MaxBatchFlags& flags) {
    LargestBatchOptions options{.budget = {},
                                .max_overhead = {},
                                .solver = flags.solver,
                                .most = flags.most,
                                .copies = {},
                                .limits = {}};
    const Result<Bytes> budget = parse_bytes(flags.budget);
    if (!budget) return Error{"--budget: " + budget.error().message};
    if (budget->value <= 0) return Error{"--budget: '" + flags.budget + "' is not above 0"};
    options.budget = *budget;
    if (flags.max_overhead != 0) options.max_overhead = flags.max_overhead;
    if (const auto known = make_solver(flags.solver); !known)
        return Error{"--solver: " + known.error().message};
    const Result<Copies> copies = copies_of(flags);
    if (!copies) return copies.error();
    options.copies = *copies;
    const Result<Nanoseconds> time = duration_flag("--time-limit", flags.time_limit);
    if (!time) return time.error();
    options.limits.time = std::chrono::nanoseconds(time->value);
    options.limits.cache = cache_folder();
    if (flags.is_function()) {
        if (!flags.inputs.empty())
            return Error{"--input: a function makes its inputs; --vary names its keyword"};
        return options;
    }
    if (!flags.vary.empty())
        return Error{"--vary: goes with package.module:function; a file has B in --input"};
    if (flags.inputs.empty()) return Error{"--input is required"};
    const bool any = std::any_of(flags.inputs.begin(), flags.inputs.end(),
                                 [](const std::string& input) { return has_batch(input); });
    if (!any) return Error{"--input: none has a dimension B, the batch; expected e.g. 'f32[B,3,224,224]'"};
    return options;
}

/// Writes the schedule for the largest batch, and its graph next to it.
Result<void> write(LargestBatch& found, const std::filesystem::path& path) {
    std::string stem = path.filename().string();
    for (const std::string_view ending : {".json", ".schedule"})
        if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
    if (Result<void> written = write_graph(found.graph, path.parent_path() / (stem + ".graph.json"));
        !written)
        return written;
    found.schedule->graph_sha256 = found.graph.sha256;
    return write_schedule(*found.schedule, path);
}

json to_json(const MaxBatchFlags& flags, const LargestBatchOptions& options, const LargestBatch& found) {
    json next = {{"batch", found.batch + 1},
                 {"proven", found.proven},
                 {"proven_in_class",
                  found.next_needs_in_class ? json(to_string(ScheduleClass::staged)) : json(nullptr)},
                 {"needed_bytes_in_class",
                  found.next_needs_in_class ? json(found.next_needs_in_class->value) : json(nullptr)},
                 {"needed_bytes", found.next_needs ? json(found.next_needs->value) : json(nullptr)},
                 {"overhead", found.next_overhead ? json(*found.next_overhead) : json(nullptr)}};
    json object = {{"status", found.schedule ? "found" : "infeasible"},
                   {"batch", found.batch},
                   {"varies", flags.varies()},
                   {"budget_bytes", options.budget.value},
                   {"max_overhead", options.max_overhead ? json(*options.max_overhead) : json(nullptr)},
                   {"solver", flags.solver},
                   {"device", flags.device},
                   {"captured", found.captured},
                   {"next", found.at_most ? json(nullptr) : std::move(next)},
                   {"without_recomputation",
                    found.without_recomputation ? json(*found.without_recomputation) : json(nullptr)},
                   {"overhead", nullptr},
                   {"peak_bytes", nullptr},
                   {"bound", nullptr},
                   {"time_ns", nullptr}};
    if (found.schedule) {
        object["overhead"] = found.schedule->overhead;
        object["peak_bytes"] = found.schedule->peak.value;
        object["host_peak_bytes"] = found.schedule->host_peak ? found.schedule->host_peak->value : 0;
        object["time_ns"] = found.schedule->time.value;
        if (found.schedule->bound) object["bound"] = found.schedule->bound->overhead;
    }
    return object;
}

std::string why_not_more(const MaxBatchFlags& flags, const LargestBatchOptions& options,
                         const LargestBatch& found) {
    if (found.at_most) return "nothing larger was tried (--most)";
    const std::string next = "a " + flags.varies() + " of " + std::to_string(found.batch + 1);
    if (found.next_needs) return next + " needs at least " + format_bytes(*found.next_needs);
    if (found.next_overhead) {
        char overhead[32];
        std::snprintf(overhead, sizeof overhead, "%.4f", *found.next_overhead);
        return next + (found.proven ? " costs at least " : " was found to cost ") + overhead;
    }
    if (!found.proven && !found.next_needs_in_class) return "no schedule was found for " + next;
    return next + " provably does not fit" + (options.max_overhead ? " within the overhead" : "") +
           (found.proven ? "" : ", in " + std::string(to_string(ScheduleClass::staged)));
}

void print(const MaxBatchFlags& flags, const LargestBatchOptions& options, const LargestBatch& found) {
    std::printf("%-10s %lld; %s\n", flags.varies().c_str(), static_cast<long long>(found.batch),
                why_not_more(flags, options, found).c_str());
    if (!found.schedule) return;
    if (found.without_recomputation)
        std::printf("%-10s %lld without recomputation, foretold\n", "",
                    static_cast<long long>(*found.without_recomputation));
    const Schedule& schedule = *found.schedule;
    std::printf("%-10s %.4f", "overhead", schedule.overhead);
    if (options.max_overhead) std::printf(" of %.4f allowed", *options.max_overhead);
    const std::string an_example =
        flags.varies() == "batch"
            ? ", " + format_duration(Nanoseconds(schedule.time.value / found.batch)) + " an example"
            : "";
    std::printf("; a step takes %s%s\n", format_duration(schedule.time).c_str(), an_example.c_str());
    std::printf("%-10s %s of a budget of %s\n", "peak", format_bytes(schedule.peak).c_str(),
                format_bytes(options.budget).c_str());
}

Result<Exit> maxbatch_command(const MaxBatchFlags& flags, const OutputFlags& output) {
    Result<LargestBatchOptions> options = options_from(flags);
    if (!options) return options.error();
    if (!flags.is_function()) {
        if (const Result<std::filesystem::path> runtime = runtime_program("maxbatch"); !runtime)
            return runtime.error();
    }
    if (const Result<void> can = flags.out.empty() ? Result<void>() : check_can_write(flags.out); !can)
        return can.error();
    const Result<TemporaryFolder> folder = TemporaryFolder::create();
    if (!folder) return folder.error();
    options->limits.stop = catch_interrupt();
    const bool shows = output.shows_progress();
    const auto capture = [&](std::int64_t batch) -> Result<Graph> {
        Result<Graph> graph =
            capture_in_process(capture_arguments(flags, batch), folder->path() / "captured.graph.json");
        if (!graph) return Error{flags.varies() + " " + std::to_string(batch) + ": " + graph.error().message};
        return graph;
    };
    Result<LargestBatch> found = largest_batch(capture, *options, [&](std::int64_t batch, BatchEvent event) {
        const char* what = event == BatchEvent::capturing ? "capture"
                           : event == BatchEvent::fits    ? "fits"
                                                          : "too large";
        if (shows)
            std::fprintf(stderr, "\r\033[K%s %lld: %s", flags.varies().c_str(), static_cast<long long>(batch),
                         what);
    });
    if (shows) std::fprintf(stderr, "\r\033[K");
    if (!found) return found.error();
    if (found->schedule && !flags.out.empty()) {
        if (const Result<void> written = write(*found, flags.out); !written) return written.error();
    }
    if (output.json)
        print_json(to_json(flags, *options, *found));
    else
        print(flags, *options, *found);
    return found->schedule ? Exit::success : Exit::negative;
}

}  // namespace

void add_maxbatch_command(const Commands& commands) {
    static OutputFlags output;
    static MaxBatchFlags flags;
    CLI::App* app = commands.add(
        "maxbatch", "find the largest batch that a budget allows",
        "rematlas maxbatch resnet50.pt --input 'f32[B,3,112,112]' --budget 2GiB --max-overhead 1.25", output,
        [] { return maxbatch_command(flags, output); });
    app->add_option(
           "model", flags.model,
           "TorchScript file or exported program that takes any batch, or package.module:function that takes "
           "a keyword batch")
        ->required();
    app->add_option("--input", flags.inputs, "as for capture, with B for the batch: 'i64[B,256]<4096'")
        ->allow_extra_args(false);
    app->add_option("--vary", flags.vary, "the keyword of a function that varies; default: batch");
    app->add_option("--optimizer", flags.optimizer, "as for capture")->capture_default_str();
    app->add_option("--optimizer-options", flags.optimizer_options, "as for capture");
    app->add_option("--master-weights", flags.master_weights,
                    "f32, as for capture; of a function with --device meta");
    app->add_option("--budget", flags.budget, "bytes (16GiB)")->required();
    app->add_option("--max-overhead", flags.max_overhead,
                    "the most time that a step may take, 1.25 = +25 %; default: any")
        ->check(CLI::Range(1.0, 1e6));
    app->add_option("--device", flags.device, "as for capture; meta needs no memory for the step")
        ->capture_default_str();
    app->add_option(
        "--device-profile", flags.device_profile,
        "as for capture; with --offload on a device, the links that copies go over, as for solve");
    app->add_option("--host-profile", flags.host_profile, "as for capture");
    app->add_option("--loss", flags.loss, "as for capture")->capture_default_str();
    app->add_option("--solver", flags.solver, "as for solve")->capture_default_str();
    add_copy_options(*app, flags.copies, false);
    app->add_option("--time-limit", flags.time_limit, "wall clock for all solving, without the captures")
        ->capture_default_str();
    app->add_option("--most", flags.most, "the largest batch that is tried")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app->add_option("-o,--output", flags.out, "write the schedule to this file, and its graph beside it");
}

}  // namespace rematlas
