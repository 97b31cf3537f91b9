#include "app/cli/measured_answer.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/cli/reading.h"
#include "core/base/sizes.h"
#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "core/snapshots/measured_memory.h"
#include "core/snapshots/planned_peak.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// The peak that a plan predicts.
struct ForetoldPeak {
    std::string path;
    Bytes peak = {}, budget = {};
    /// The tensors held at the peak; empty if the plan's graph is not found
    std::vector<PlannedBytes> held = {};
};

Result<ForetoldPeak> foretold_by(const std::string& path, const Graph* graph, const Schedule& schedule) {
    ForetoldPeak plan{.path = path, .peak = schedule.peak, .budget = schedule.budget};
    if (graph == nullptr) return plan;
    Result<std::vector<PlannedBytes>> held = planned_at_peak(*graph, schedule);
    if (!held) return Error{path + ": " + held.error().message};
    plan.held = held.take();
    return plan;
}

/// Reads a plan or a schedule. If the graph of a schedule is not found, `held` stays empty.
Result<ForetoldPeak> foretold(const std::string& path) {
    if (file_kind(path) == FileKind::plan) {
        const Result<Plan> plan = read_plan(path);
        if (!plan) return plan.error();
        return foretold_by(path, &plan->graph, plan->schedule);
    }
    const Result<Schedule> schedule = schedule_in(path);
    if (!schedule) return schedule.error();
    const Result<Graph> graph = graph_for(*schedule, path, "");
    return foretold_by(path, graph ? &*graph : nullptr, *schedule);
}

/// One device of a measurement, with the numbers that are printed both as text and as JSON.
struct DeviceFigures {
    const MeasuredMemory& measured;
    const MeasuredDevice& device;
    TraceMoment peak = peak_moment(device.allocated);
    std::vector<PlaceShare> alive = alive_by_place(measured, device, peak);

    Bytes peak_allocated() const { return Bytes(device.allocated[peak]); }
    Bytes peak_reserved() const { return Bytes(device.reserved[peak_moment(device.reserved)]); }
    std::optional<Nanoseconds> span() const {
        if (device.times_us.empty()) return std::nullopt;
        const auto [first, last] = std::minmax_element(device.times_us.begin(), device.times_us.end());
        return Nanoseconds((*last - *first) * 1000);
    }
    /// Returns the time between the first event and the event that led to this moment.
    std::optional<Nanoseconds> time_at(TraceMoment moment) const {
        if (device.times_us.empty() || moment == 0) return std::nullopt;
        return Nanoseconds((device.times_us[moment - 1] - device.times_us.front()) * 1000);
    }
    /// Returns the bytes of the blocks that are allocated at the peak but occur in no event.
    Bytes unnamed() const {
        Bytes rest = peak_allocated();
        for (const PlaceShare& share : alive) rest -= share.bytes;
        return rest;
    }
};

std::string blocks_text(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " block" : " blocks");
}

std::string when(const DeviceFigures& figures, TraceMoment moment) {
    if (moment == 0) return "before the first event";
    std::string text = "after event " + std::to_string(moment);
    if (const auto time = figures.time_at(moment)) text += ", " + format_duration(*time) + " after the first";
    return text;
}

std::string stack_place(const MeasuredMemory& measured, StackId stack) {
    return share_name(measured, {.place = measured.stacks.place(stack)});
}

/// Returns a sentence for each fact that the trace does not contain.
std::vector<std::string> left_open(const DeviceFigures& figures) {
    const TraceGaps& gaps = figures.device.gaps;
    const bool snapshot = figures.measured.source == MeasuredMemory::Source::snapshot;
    std::vector<std::string> told;
    if (figures.device.events() == 0)
        told.push_back(
            "No event is recorded, so that only the end is known; call "
            "torch.cuda.memory._record_memory_history() before the step.");
    if (gaps.before.value > 0)
        told.push_back("The trace begins with " + format_bytes(gaps.before) + " allocated" +
                       (gaps.before_unplaced.value > 0 ? "; where " + format_bytes(gaps.before_unplaced) +
                                                             " of them were allocated is not known."
                                                       : ", and what was before is not known."));
    if (gaps.rounding)
        told.push_back("Bytes are those requested; the allocator's blocks are larger, by " +
                       format_bytes(*gaps.rounding) + " together when the snapshot is made.");
    if (gaps.lost_frees > 0)
        told.push_back(std::to_string(gaps.lost_frees) +
                       " blocks are given back without an event: events are missing.");
    if (gaps.missing_blocks > 0)
        told.push_back(std::to_string(gaps.missing_blocks) + " blocks (" + format_bytes(gaps.missing) +
                       ") are never given back and are not there at the end: events are missing.");
    if (gaps.reserved_short.value > 0)
        told.push_back("The bytes reserved come out below zero at first: events of segments are missing.");
    if (!snapshot) told.push_back("A profiler's trace has no frames and no segments; a snapshot has both.");
    return told;
}

void print_shares(const DeviceFigures& figures, std::size_t top) {
    std::size_t shown = 0;
    Bytes rest;
    for (const PlaceShare& share : figures.alive) {
        if (shown++ >= top)
            rest += share.bytes;
        else
            std::printf("    %12s  %12s  %s\n", format_bytes(share.bytes).c_str(),
                        blocks_text(share.blocks).c_str(), share_name(figures.measured, share).c_str());
    }
    if (rest.value > 0)
        std::printf("    %12s  %5zu places  more (--top shows them)\n", format_bytes(rest).c_str(),
                    shown - top);
    if (figures.unnamed().value > 0)
        std::printf("    %12s  %12s  no event names it\n", format_bytes(figures.unnamed()).c_str(), "");
}

void print_segments(const MeasuredDevice& device) {
    if (device.segments.empty()) return;
    const Fragmentation sums = fragmentation_of(device);
    std::printf("\n  segments when the snapshot is made (%zu)\n", sums.segments);
    const auto line = [](const char* what, Bytes bytes) {
        std::printf("    %12s  %s\n", format_bytes(bytes).c_str(), what);
    };
    line("reserved", sums.reserved);
    line("allocated, with the allocator's rounding", sums.allocated);
    if (sums.awaiting.value > 0) line("given back, still read by another stream", sums.awaiting);
    line("free inside segments", sums.inactive);
    line("of these in segments that hold something, which cannot go back to the device", sums.stuck);
    line("the largest free block", sums.largest_free);
}

/// Prints the differences between the measured and the planned peak. Blocks are matched by their sizes only.
void print_differences(const DeviceFigures& figures, const ForetoldPeak& plan, std::size_t top) {
    if (plan.held.empty()) return;
    std::vector<PeakDifference> differences =
        peak_differences(plan.held, figures.measured, figures.device, figures.peak);
    std::printf("\n  at one peak and not at the other, by size\n");
    differences.resize(std::min(differences.size(), top));
    for (const PeakDifference& difference : differences)
        std::printf("    %12s  %12s  %s  %s\n", format_bytes(difference.total()).c_str(),
                    blocks_text(difference.blocks).c_str(), difference.measured ? "measured " : "predicted",
                    difference.names.c_str());
    if (differences.empty()) std::printf("    none\n");
}

void print_plan(const DeviceFigures& figures, const ForetoldPeak& plan, std::size_t top) {
    const Bytes measured = figures.peak_allocated(), more = measured - plan.peak;
    std::printf("\n  %s\n", plan.path.c_str());
    std::printf("    %12s  predicted peak (budget %s)\n", format_bytes(plan.peak).c_str(),
                format_bytes(plan.budget).c_str());
    std::printf("    %12s  measured peak\n", format_bytes(measured).c_str());
    const double percent = plan.peak.value > 0
                               ? 100 * static_cast<double>(more.value) / static_cast<double>(plan.peak.value)
                               : 0;
    std::printf("    %12s  %s than predicted (%+.2f %%)\n",
                format_bytes(more.value < 0 ? -more : more).c_str(), more.value < 0 ? "less" : "more",
                percent);
    print_differences(figures, plan, top);
}

void print_failures(const DeviceFigures& figures, std::size_t top) {
    const std::vector<OutOfMemory>& failures = figures.device.failures;
    if (!failures.empty()) std::printf("\n  out of memory\n");
    for (std::size_t i = 0; i < std::min(failures.size(), top); ++i)
        std::printf("    %12s  asked for with %s free on the device, %s, by %s\n",
                    format_bytes(failures[i].asked).c_str(), format_bytes(failures[i].device_free).c_str(),
                    when(figures, failures[i].moment).c_str(),
                    stack_place(figures.measured, failures[i].stack).c_str());
    if (failures.size() > top) std::printf("    %12s  %zu more times\n", "", failures.size() - top);
}

void print_device(const DeviceFigures& figures, const std::optional<ForetoldPeak>& plan, std::size_t top) {
    const MeasuredDevice& device = figures.device;
    std::printf("\n%s\n", device.name.c_str());
    std::printf("  %-16s %12zu", "events", device.events());
    if (const auto span = figures.span()) std::printf("  (over %s)", format_duration(*span).c_str());
    std::printf("\n  %-16s %12s  (%s)\n", "peak allocated", format_bytes(figures.peak_allocated()).c_str(),
                when(figures, figures.peak).c_str());
    if (!device.reserved.empty())
        std::printf("  %-16s %12s  (%s)\n", "peak reserved", format_bytes(figures.peak_reserved()).c_str(),
                    when(figures, peak_moment(device.reserved)).c_str());
    if (plan) print_plan(figures, *plan, top);
    std::printf("\n  alive at the peak\n");
    print_shares(figures, top);
    print_segments(device);
    print_failures(figures, top);
    const std::vector<std::string> told = left_open(figures);
    if (!told.empty()) std::printf("\n  what the trace does not know\n");
    for (const std::string& sentence : told) std::printf("    %s\n", sentence.c_str());
}

json place_json(const MeasuredMemory& measured, FrameId place) {
    if (!place.valid()) return nullptr;
    const CallFrame& frame = measured.stacks[place];
    return {{"file", measured.texts[frame.file]},
            {"line", frame.line},
            {"function", measured.texts[frame.function]}};
}

json share_json(const MeasuredMemory& measured, const PlaceShare& share) {
    return {{"name", share_name(measured, share)},
            {"place", place_json(measured, share.place)},
            {"bytes", share.bytes.value},
            {"blocks", share.blocks}};
}

json segments_json(const Fragmentation& sums) {
    return {{"segments", sums.segments},
            {"reserved_bytes", sums.reserved.value},
            {"allocated_bytes", sums.allocated.value},
            {"awaiting_free_bytes", sums.awaiting.value},
            {"inactive_bytes", sums.inactive.value},
            {"inactive_in_held_segments_bytes", sums.stuck.value},
            {"largest_free_bytes", sums.largest_free.value}};
}

json gaps_json(const TraceGaps& gaps) {
    json out = {{"allocated_before_bytes", gaps.before.value},
                {"allocated_before_without_place_bytes", gaps.before_unplaced.value},
                {"lost_frees", gaps.lost_frees},
                {"missing_blocks", gaps.missing_blocks},
                {"missing_bytes", gaps.missing.value},
                {"reserved_below_zero_bytes", gaps.reserved_short.value}};
    if (gaps.rounding) out["rounding_bytes"] = gaps.rounding->value;
    return out;
}

json plan_json(const DeviceFigures& figures, const ForetoldPeak& plan) {
    json out = {{"predicted_peak_bytes", plan.peak.value},
                {"measured_peak_bytes", figures.peak_allocated().value},
                {"difference_bytes", (figures.peak_allocated() - plan.peak).value}};
    if (plan.held.empty()) return out;
    out["differences"] = json::array();
    for (const PeakDifference& difference :
         peak_differences(plan.held, figures.measured, figures.device, figures.peak))
        out["differences"].push_back({{"at", difference.measured ? "measured" : "predicted"},
                                      {"bytes", difference.total().value},
                                      {"blocks", difference.blocks},
                                      {"names", difference.names}});
    return out;
}

json device_json(const DeviceFigures& figures, const std::optional<ForetoldPeak>& plan) {
    const MeasuredDevice& device = figures.device;
    json out = {{"device", device.name},
                {"events", device.events()},
                {"peak_allocated_bytes", figures.peak_allocated().value},
                {"peak_event", figures.peak},
                {"allocated_at_begin_bytes", device.allocated.front()},
                {"allocated_at_end_bytes", device.allocated.back()},
                {"unnamed_at_peak_bytes", figures.unnamed().value},
                {"unknown", gaps_json(device.gaps)},
                {"alive_at_peak", json::array()},
                {"out_of_memory", json::array()}};
    if (const auto span = figures.span()) out["span_ns"] = span->value;
    if (const auto time = figures.time_at(figures.peak)) out["peak_time_ns"] = time->value;
    if (!device.reserved.empty()) {
        out["peak_reserved_bytes"] = figures.peak_reserved().value;
        out["reserved_at_end_bytes"] = device.reserved.back();
    }
    for (const PlaceShare& share : figures.alive)
        out["alive_at_peak"].push_back(share_json(figures.measured, share));
    if (!device.segments.empty()) out["segments"] = segments_json(fragmentation_of(device));
    for (const OutOfMemory& failure : device.failures)
        out["out_of_memory"].push_back(
            {{"event", failure.moment},
             {"asked_bytes", failure.asked.value},
             {"device_free_bytes", failure.device_free.value},
             {"place", place_json(figures.measured, figures.measured.stacks.place(failure.stack))}});
    if (plan) out["plan"] = plan_json(figures, *plan);
    return out;
}

}  // namespace

Result<Exit> inspect_measurement(const MeasuredQuestion& question, const OutputFlags& flags) {
    std::optional<ForetoldPeak> plan;
    if (!question.plan.empty()) {
        Result<ForetoldPeak> read = foretold(question.plan);
        if (!read) return read.error();
        plan = read.take();
    }
    const Result<MeasuredMemory> measured = read_measured_memory(question.path);
    if (!measured) return measured.error();
    const char* source = measured->source == MeasuredMemory::Source::snapshot ? "snapshot" : "profile";
    json object = {{"format", "rematlas.measurement"}, {"version", 1}, {"file", question.path}};
    object["source"] = source;
    object["settings"] = measured->settings;
    if (!flags.json) std::printf("%s: a %s by torch\n", question.path.c_str(), source);
    if (!flags.json && !measured->settings.empty())
        std::printf("  %-16s %s\n", "settings", measured->settings.c_str());
    for (const MeasuredDevice& device : measured->devices) {
        const DeviceFigures figures{*measured, device};
        if (flags.json)
            object["devices"].push_back(device_json(figures, plan));
        else
            print_device(figures, plan, question.top);
    }
    if (flags.json) print_json(object);
    return Exit::success;
}

}  // namespace rematlas
