// rematlas diff
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/base/links.h"
#include "core/base/sizes.h"
#include "core/costs/link_profile.h"
#include "core/schedule/schedule_diff.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// Returns "+3.1 ms", "-17.2 MiB", or "0 B" if nothing changes.
std::string signed_text(std::int64_t change, const std::string& size) {
    return change > 0 ? "+" + size : change < 0 ? "-" + size : size;
}
std::string change_of(Nanoseconds time) {
    return signed_text(time.value, format_duration(Nanoseconds(std::abs(time.value))));
}

/// Returns for example "3.1 ms less", or "as long" for no difference.
std::string more_or_less(Nanoseconds time) {
    if (time.value == 0) return "as long";
    return format_duration(Nanoseconds(std::abs(time.value))) + (time.value > 0 ? " more" : " less");
}
/// Returns for example "17 MiB more", or "as much" for no difference.
std::string more_or_less(Bytes bytes) {
    if (bytes.value == 0) return "as much";
    return format_bytes(Bytes(std::abs(bytes.value))) + (bytes.value > 0 ? " more" : " less");
}

/// Returns for example "pcie4" or "2 GB/s".
std::string links_text(const std::optional<Links>& links) {
    return links && links->both_ways() ? link_name(*links) : "none";
}

/// Returns the links that the schedule was made for: its own links, or the links of the graph's device.
std::optional<Links> links_of(const Schedule& schedule, const Result<Graph>& graph) {
    if (schedule.links) return schedule.links;
    return graph && graph->device ? std::optional(graph->device->links) : std::nullopt;
}

bool uses_host(const Schedule& schedule) {
    return host_runs(schedule.steps) > 0 || schedule.host_peak.value_or(Bytes(0)).value > 0;
}

void print_headers(const Schedule& a, const Schedule& b, const Result<Graph>& graph,
                   const std::optional<ScheduleDiff>& compared) {
    const auto row = [](const char* name, const std::string& left, const std::string& right) {
        std::printf("%-12s %18s %18s\n", name, left.c_str(), right.c_str());
    };
    const auto number = [](double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.4f", value);
        return std::string(text);
    };
    row("", "a", "b");
    row("solver", a.solver, b.solver);
    row("budget", format_bytes(a.budget), format_bytes(b.budget));
    row("overhead", number(a.overhead), number(b.overhead));
    row("peak", format_bytes(a.peak), format_bytes(b.peak));
    const auto pins = [](const Schedule& schedule) {
        std::string text;
        for (const Pin& pin : schedule.pins) text += (text.empty() ? "" : ", ") + to_string(pin);
        return text.empty() ? std::string("none") : text;
    };
    if (!a.pins.empty() || !b.pins.empty()) row("pins", pins(a), pins(b));
    row("steps", std::to_string(a.steps.size()), std::to_string(b.steps.size()));
    if (!uses_host(a) && !uses_host(b)) return;
    if (compared) {
        const HostUse &in_a = compared->host_a, &in_b = compared->host_b;
        row("to host", format_bytes(in_a.to_host), format_bytes(in_b.to_host));
        row("to device", format_bytes(in_a.to_device), format_bytes(in_b.to_device));
    }
    row("host peak", format_bytes(a.host_peak.value_or(Bytes(0))),
        format_bytes(b.host_peak.value_or(Bytes(0))));
    row("host updates", std::to_string(host_runs(a.steps)), std::to_string(host_runs(b.steps)));
    row("links", links_text(links_of(a, graph)), links_text(links_of(b, graph)));
}

/// Returns the number of runs as text, or "host" if the op runs on the host.
std::string runs_text(int runs, bool on_host) {
    return on_host ? "host" : std::to_string(runs);
}

constexpr std::size_t kMostRows = 30;

void print_more(std::size_t rows) {
    if (rows > kMostRows) std::printf("  and %zu more (--json lists all)\n", rows - kMostRows);
}

std::string updates(int count) {
    return std::to_string(count) + (count == 1 ? " update" : " updates");
}

void print_comparison(const Graph& graph, const ScheduleDiff& found) {
    std::printf("b takes %s and needs %s at the peak\n", more_or_less(found.time_b - found.time_a).c_str(),
                more_or_less(found.peak_b - found.peak_a).c_str());
    std::printf("it runs ops %d times more (%s) and %d times less (%s)\n", found.more_runs,
                format_duration(found.more_time).c_str(), found.fewer_runs,
                format_duration(found.fewer_time).c_str());
    if (found.left_device > 0)
        std::printf("it runs %s on the host that a runs on the device (%s there)\n",
                    updates(found.left_device).c_str(), format_duration(found.left_time).c_str());
    if (found.came_back > 0)
        std::printf("it runs %s on the device (%s) that a runs on the host\n",
                    updates(found.came_back).c_str(), format_duration(found.came_time).c_str());
    if (found.ops.empty()) return;
    std::printf("  %-8s %12s %12s %14s %14s  %s\n", "op", "runs", "time", "at a's peak", "at b's peak", "");
    for (std::size_t i = 0; i < found.ops.size() && i < kMostRows; ++i) {
        const OpDifference& d = found.ops[i];
        const Op& op = graph.ops[d.op];
        std::printf("  %-8lld %4s -> %-4s %12s %14s %14s  %s %s\n", static_cast<long long>(d.op.value),
                    runs_text(d.runs_a, d.on_host_a).c_str(), runs_text(d.runs_b, d.on_host_b).c_str(),
                    change_of(d.time).c_str(), format_bytes(d.at_peak_a).c_str(),
                    format_bytes(d.at_peak_b).c_str(), op.name.c_str(), op.module.c_str());
    }
    print_more(found.ops.size());
}

/// Prints the differences that are known without the graph.
void print_runs(const std::vector<RunDifference>& found) {
    std::printf("%zu ops run a different number of times, or in another place\n", found.size());
    for (std::size_t i = 0; i < found.size() && i < kMostRows; ++i)
        std::printf("  op %-6lld %s -> %s\n", static_cast<long long>(found[i].op.value),
                    runs_text(found[i].a, found[i].on_host_a).c_str(),
                    runs_text(found[i].b, found[i].on_host_b).c_str());
    print_more(found.size());
}

json to_json(const ScheduleDiff& found) {
    json ops = json::array();
    for (const OpDifference& d : found.ops)
        ops.push_back({{"op", d.op.value},
                       {"a", d.runs_a},
                       {"b", d.runs_b},
                       {"on_host_a", d.on_host_a},
                       {"on_host_b", d.on_host_b},
                       {"time_ns", d.time.value},
                       {"at_peak_a_bytes", d.at_peak_a.value},
                       {"at_peak_b_bytes", d.at_peak_b.value}});
    return {{"ops", std::move(ops)},
            {"time_ns", (found.time_b - found.time_a).value},
            {"peak_bytes", (found.peak_b - found.peak_a).value},
            {"more_runs", found.more_runs},
            {"fewer_runs", found.fewer_runs},
            {"more_time_ns", found.more_time.value},
            {"fewer_time_ns", found.fewer_time.value},
            {"left_device", found.left_device},
            {"left_device_time_ns", found.left_time.value},
            {"came_back", found.came_back},
            {"came_back_time_ns", found.came_time.value}};
}

json to_json(const std::vector<RunDifference>& found) {
    json ops = json::array();
    for (const RunDifference& d : found)
        ops.push_back({{"op", d.op.value},
                       {"a", d.a},
                       {"b", d.b},
                       {"on_host_a", d.on_host_a},
                       {"on_host_b", d.on_host_b}});
    return {{"ops", std::move(ops)}};
}

/// Returns one of the two schedules as JSON. `host` is null if the graph is unknown.
json to_json(const Schedule& schedule, const HostUse* host, const std::optional<Links>& links) {
    json object = {{"solver", schedule.solver},
                   {"budget_bytes", schedule.budget.value},
                   {"overhead", schedule.overhead},
                   {"peak_bytes", schedule.peak.value},
                   {"host_peak_bytes", schedule.host_peak.value_or(Bytes(0)).value},
                   {"host_runs", host_runs(schedule.steps)},
                   {"links", nullptr},
                   {"steps", schedule.steps.size()}};
    if (host)
        object["to_host_bytes"] = host->to_host.value, object["to_device_bytes"] = host->to_device.value;
    if (links && links->both_ways()) {
        object["links"] = json::object();
        add_links(*links, object["links"]);
    }
    return object;
}

/// Compares two schedules. If their graph is found, prints what the differences cost; otherwise prints only
/// which ops run a different number of times.
Result<Exit> diff_command(const std::string& left_path, const std::string& right_path,
                          const std::string& graph_path, const std::string& plot, const OutputFlags& output) {
    const Result<Schedule> a = schedule_in(left_path);
    if (!a) return a.error();
    const Result<Schedule> b = schedule_in(right_path);
    if (!b) return b.error();
    if (a->graph_sha256 != b->graph_sha256)
        return Error{right_path + ": belongs to another graph than " + left_path};
    const Result<Graph> graph = graph_for(*a, left_path, graph_path);
    if (!graph && !(graph_path.empty() && plot.empty())) return graph.error();
    if (const Result<void> can = plot.empty() ? Result<void>() : check_picture_path(plot); !can)
        return can.error();
    std::optional<ScheduleDiff> compared;
    if (graph) {
        Result<ScheduleDiff> found = compare(*graph, *a, *b);
        if (!found) return found.error();
        compared = std::move(*found);
        const Result<void> drawn = plot.empty() ? Result<void>() : draw_comparison_file(*graph, *a, *b, plot);
        if (!drawn) return drawn.error();
    }
    const std::vector<RunDifference> runs = run_differences(a->steps, b->steps);
    if (output.json) {
        json object = compared ? to_json(*compared) : to_json(runs);
        object["a"] = to_json(*a, compared ? &compared->host_a : nullptr, links_of(*a, graph));
        object["b"] = to_json(*b, compared ? &compared->host_b : nullptr, links_of(*b, graph));
        object["same_steps"] = a->steps == b->steps;
        print_json(object);
        return Exit::success;
    }
    print_headers(*a, *b, graph, compared);
    if (compared)
        print_comparison(*graph, *compared);
    else
        print_runs(runs);
    return Exit::success;
}

}  // namespace

void add_diff_command(const Commands& commands) {
    static OutputFlags output;
    static std::string a, b, graph, plot;
    CLI::App* app = commands.add("diff", "show what two schedules of one graph do differently",
                                 "rematlas diff a.schedule.json b.schedule.json", output,
                                 [] { return diff_command(a, b, graph, plot, output); });
    app->add_option("a", a, "a .schedule.json file")->required();
    app->add_option("b", b, "another one")->required();
    app->add_option("--plot", plot, "draw both to this file (.svg, .png, .pdf)");
    app->add_option("--graph", graph, "their graph (default: the file beside a with the digest it names)");
}

}  // namespace rematlas
