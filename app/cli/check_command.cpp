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

/// Returns the peaks of libtorch's allocator under the schedule. Returns nullopt if the graph was not
/// captured on CUDA.
std::optional<CachingAllocatorPeaks> caching_peaks(const Graph& graph, const Schedule& schedule) {
    if (!graph.device || !graph.device->allocator) return std::nullopt;
    const Result<CachingAllocatorPeaks> peaks = caching_allocator_peaks(
        graph, schedule.steps, *graph.device->allocator, schedule.homes, schedule.links);
    return peaks ? std::optional(*peaks) : std::nullopt;
}

/// If a schedule has more runs than this, its arena is only planned on request: planning takes time quadratic
/// in the runs, and a check must be quick.
constexpr std::size_t kMostRunsToPlan = 5'000;

/// Returns the size of the arena. If the schedule has no addresses, plans them first. If `asked` is false
/// (the user did not ask for an arena), returns nullopt if planning would take too long or fails.
Result<std::optional<Bytes>> arena_of(const Graph& graph, const Schedule& schedule, std::size_t runs,
                                      bool asked) {
    if (schedule.addresses) return std::optional(schedule.addresses->arena);
    if (!asked && runs > kMostRunsToPlan) return std::optional<Bytes>();
    const AddressOptions options{.alignment = alignment_for(graph),
                                 .homes = schedule.homes,
                                 .links = schedule.links,
                                 .effort = asked ? 1'000'000'000 : AddressOptions{}.effort};
    const Result<AddressPlan> plan = plan_addresses(graph, schedule.steps, options);
    if (!plan && !asked) return std::optional<Bytes>();
    if (!plan) return plan.error();
    const Addresses addresses = addresses_from(*plan, options.alignment);
    if (const Result<void> sound = check_addresses(graph, schedule.steps, addresses, true, schedule.homes);
        !sound)
        return sound.error();
    return std::optional(plan->arena);
}

/// Returns the use of a link, or of the host's processor, as JSON.
json use_json(const SideUse& use) {
    return {{"bytes", use.bytes.value}, {"busy_ns", use.busy.value}};
}

double share(Nanoseconds busy, Nanoseconds time) {
    return time.value > 0 ? 100.0 * static_cast<double>(busy.value) / static_cast<double>(time.value) : 0;
}

/// Prints copies and host runs. Prints nothing if the schedule never uses the host.
void print_host(const CheckReport& report, const std::optional<Bytes>& budget) {
    if (report.host_peak.value == 0 && report.to_host.busy.value == 0 && report.host_runs == 0) return;
    std::printf("host: peak %s (%lld bytes, at step %zu)%s\n", format_bytes(report.host_peak).c_str(),
                static_cast<long long>(report.host_peak.value), report.host_peak_step,
                budget ? (" of " + format_bytes(*budget)).c_str() : "");
    for (const auto& [way, use] :
         {std::pair("to the host", &report.to_host), std::pair("to the device", &report.to_device)})
        std::printf("%s: %s in %s, busy %.1f %% of the step\n", way, format_bytes(use->bytes).c_str(),
                    format_duration(use->busy).c_str(), share(use->busy, report.time));
    if (report.host_runs > 0)
        std::printf("on the host: %zu runs in %s, busy %.1f %% of the step\n", report.host_runs,
                    format_duration(report.on_host.busy).c_str(), share(report.on_host.busy, report.time));
}

/// Prints how much each queue of collectives is used.
void print_collectives(const CheckReport& report) {
    for (const auto& [queue, use] : report.collectives)
        std::printf("queue %s: %s sent in %s, busy %.1f %% of the step\n", queue.c_str(),
                    format_bytes(use.bytes).c_str(), format_duration(use.busy).c_str(),
                    share(use.busy, report.time));
}

json collectives_json(const CheckReport& report) {
    json queues = json::object();
    for (const auto& [queue, use] : report.collectives) queues[queue] = use_json(use);
    return queues;
}

struct CheckFlags {
    std::string graph, schedule, budget, host_budget;
    bool in_arena = false;
    OutputFlags output;
};

Result<Exit> check_command(const CheckFlags& flags) {
    const OutputFlags& output = flags.output;
    const std::string &graph_path = flags.graph, &schedule_path = flags.schedule;
    const bool in_arena = flags.in_arena;
    const Result<Graph> graph = read_graph(graph_path);
    if (!graph) return graph.error();
    const Result<Schedule> schedule = schedule_in(schedule_path);
    if (!schedule) return schedule.error();
    std::optional<Bytes> budget;
    if (!flags.budget.empty()) {
        const Result<Bytes> given = budget_flag(flags.budget, step_bytes(flatten(*graph)));
        if (!given) return given.error();
        budget = *given;
    }
    std::optional<Bytes> host_budget = schedule->host_budget;
    if (!flags.host_budget.empty()) {
        const Result<Bytes> given = parse_bytes(flags.host_budget);
        if (!given) return Error{"--host-budget: " + given.error().message};
        host_budget = *given;
    }
    CheckReport report = check(*graph, *schedule, CheckBudgets{.device = budget, .host = host_budget});
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
                    {"host_peak_bytes", report.host_peak.value},
                    {"host_peak_step", report.host_peak_step},
                    {"host_budget_bytes", host_budget ? json(host_budget->value) : json()},
                    {"to_host", use_json(report.to_host)},
                    {"to_device", use_json(report.to_device)},
                    {"host_ops", {{"runs", report.host_runs}, {"busy_ns", report.on_host.busy.value}}},
                    {"collectives", collectives_json(report)},
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
        print_host(report, host_budget);
        print_collectives(report);
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
    static CheckFlags flags;
    CLI::App* check_app = commands.add("check", "re-simulate a schedule with the independent checker",
                                       "rematlas check gpt12.graph.json gpt12.schedule.json --budget 2GiB",
                                       flags.output, [] { return check_command(flags); });
    check_app->add_option("graph", flags.graph, "a .graph.json file")->required();
    check_app->add_option("schedule", flags.schedule, "a .schedule.json file")->required();
    check_app->add_option("--budget", flags.budget,
                          "check against this budget instead of the schedule's own");
    check_app->add_option("--host-budget", flags.host_budget,
                          "bytes that copies may take on the host, instead of the schedule's own");
    check_app->add_flag("--arena", flags.in_arena,
                        "plan addresses where the schedule has none; the budget bounds the arena");
}

}  // namespace rematlas
