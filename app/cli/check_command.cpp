// rematlas check
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/addresses/address_plan.h"
#include "core/addresses/caching_allocator.h"
#include "core/base/sizes.h"
#include "core/checking/check.h"
#include "core/checking/check_addresses.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "core/schedule/schedule_file.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// What libtorch's allocator takes for the schedule of a graph that was captured on CUDA; else nothing.
std::optional<CachingAllocatorPeaks> caching_peaks(const Graph& graph, const Schedule& schedule) {
    if (!graph.device || !graph.device->allocator) return std::nullopt;
    const Result<CachingAllocatorPeaks> peaks =
        caching_allocator_peaks(graph, schedule.steps, *graph.device->allocator);
    return peaks ? std::optional(*peaks) : std::nullopt;
}

/// Planning is quadratic in the runs, and a check must stay quick: beyond this many only what was asked for
/// is planned.
constexpr std::size_t kMostRunsToPlan = 5'000;

/// That of the schedule's own addresses, else of addresses planned here.
Result<std::optional<Bytes>> arena_of(const Graph& graph, const Schedule& schedule, std::size_t runs,
                                      bool asked) {
    if (schedule.addresses) return std::optional(schedule.addresses->arena);
    if (!asked && runs > kMostRunsToPlan) return std::optional<Bytes>();
    const AddressOptions options{.alignment = alignment_for(graph),
                                 .effort = asked ? 1'000'000'000 : AddressOptions{}.effort};
    const Result<AddressPlan> plan = plan_addresses(graph, schedule.steps, options);
    if (!plan && !asked) return std::optional<Bytes>();
    if (!plan) return plan.error();
    const Addresses addresses = addresses_from(*plan, options.alignment);
    if (const Result<void> sound = check_addresses(graph, schedule.steps, addresses); !sound)
        return sound.error();
    return std::optional(plan->arena);
}

Result<Exit> check_command(const std::string& graph_path, const std::string& schedule_path,
                           const std::string& budget_text, bool in_arena, const OutputFlags& output) {
    const Result<Graph> graph = read_graph(graph_path);
    if (!graph) return graph.error();
    const Result<Schedule> schedule = schedule_in(schedule_path);
    if (!schedule) return schedule.error();
    std::optional<Bytes> budget;
    if (!budget_text.empty()) {
        const Result<Bytes> given = budget_flag(budget_text, step_bytes(flatten(*graph)));
        if (!given) return given.error();
        budget = *given;
    }
    CheckReport report = check(*graph, *schedule, budget);
    std::optional<Bytes> arena;
    if (report.ok()) {
        const Result<std::optional<Bytes>> found = arena_of(*graph, *schedule, report.runs, in_arena);
        if (!found) return found.error();
        arena = *found;
        const Bytes limit = budget ? *budget : schedule->budget;
        if (in_arena && limit.value > 0 && *arena > limit)
            report.violations.push_back("the arena, " + std::to_string(arena->value) +
                                        " bytes, is over the budget, " + std::to_string(limit.value));
    }
    const std::optional<CachingAllocatorPeaks> caching =
        report.ok() ? caching_peaks(*graph, *schedule) : std::nullopt;
    if (output.json) {
        print_json({{"ok", report.ok()},
                    {"status", report.ok() ? "ok" : "failed"},
                    {"violations", report.violations},
                    {"overhead", report.overhead},
                    {"time_ns", report.time.value},
                    {"peak_bytes", report.peak.value},
                    {"peak_step", report.peak_step},
                    {"arena_bytes", arena ? json(arena->value) : json()},
                    {"allocated_peak_bytes", caching ? json(caching->allocated.value) : json()},
                    {"reserved_peak_bytes", caching ? json(caching->reserved.value) : json()},
                    {"budget_bytes", budget ? budget->value : schedule->budget.value},
                    {"runs", report.runs},
                    {"reruns", report.reruns},
                    {"evictions", schedule->evicted.size()}});
    } else if (report.ok()) {
        std::printf(
            "ok: overhead %.4f, peak %s (%lld bytes, at step %zu), %zu runs of which %zu recompute%s\n",
            report.overhead, format_bytes(report.peak).c_str(), static_cast<long long>(report.peak.value),
            report.peak_step, report.runs, report.reruns,
            schedule->evicted.empty()
                ? ""
                : (", " + std::to_string(schedule->evicted.size()) + " evictions").c_str());
        if (arena)
            std::printf("planned addresses: arena %s (%lld bytes, %.2f %% above the peak)\n",
                        format_bytes(*arena).c_str(), static_cast<long long>(arena->value),
                        100.0 * static_cast<double>(arena->value - report.peak.value) /
                            static_cast<double>(std::max<std::int64_t>(report.peak.value, 1)));
        if (caching)
            std::printf("caching allocator: %s allocated, %s reserved\n",
                        format_bytes(caching->allocated).c_str(), format_bytes(caching->reserved).c_str());
    }
    if (report.ok()) return Exit::success;
    for (std::size_t i = 1; i < report.violations.size() && !output.json; ++i)
        std::printf("%s\n", report.violations[i].c_str());
    return Error{schedule_path + ": " + report.violations.front(), ErrorKind::negative};
}

}  // namespace

void add_check_command(const Commands& commands) {
    static OutputFlags output;
    static std::string graph, schedule, budget;
    static bool in_arena = false;
    CLI::App* check_app =
        commands.add("check", "re-simulate a schedule with the independent checker",
                     "rematlas check gpt12.graph.json gpt12.schedule.json --budget 2GiB", output,
                     [] { return check_command(graph, schedule, budget, in_arena, output); });
    check_app->add_option("graph", graph, "a .graph.json file")->required();
    check_app->add_option("schedule", schedule, "a .schedule.json file")->required();
    check_app->add_option("--budget", budget, "check against this budget instead of the schedule's own");
    check_app->add_flag("--arena", in_arena,
                        "plan addresses where the schedule has none; the budget bounds the arena");
}

}  // namespace rematlas
