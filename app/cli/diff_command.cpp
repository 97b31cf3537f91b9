// rematlas diff
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/reading.h"
#include "core/base/sizes.h"
#include "core/schedule/comparison.h"
#include "core/schedule/schedule_file.h"
#include "viz/paint/draw.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// "+3.1 ms", "-17.2 MiB", "0 B" where nothing changes.
std::string signed_text(std::int64_t change, const std::string& size) {
    return change > 0 ? "+" + size : change < 0 ? "-" + size : size;
}
std::string change_of(Nanoseconds time) {
    return signed_text(time.value, format_duration(Nanoseconds(std::abs(time.value))));
}
std::string change_of(Bytes bytes) {
    return signed_text(bytes.value, format_bytes(Bytes(std::abs(bytes.value))));
}

/// "3.1 ms less", "as long", "17 MiB more", "as much".
std::string more_or_less(Nanoseconds time) {
    if (time.value == 0) return "as long";
    return format_duration(Nanoseconds(std::abs(time.value))) + (time.value > 0 ? " more" : " less");
}
std::string more_or_less(Bytes bytes) {
    if (bytes.value == 0) return "as much";
    return format_bytes(Bytes(std::abs(bytes.value))) + (bytes.value > 0 ? " more" : " less");
}

void print_headers(const Schedule& a, const Schedule& b) {
    const auto row = [](const char* name, const std::string& left, const std::string& right) {
        std::printf("%-10s %18s %18s\n", name, left.c_str(), right.c_str());
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
}

constexpr std::size_t kMostRows = 30;

void print_more(std::size_t rows) {
    if (rows > kMostRows) std::printf("  and %zu more (--json lists all)\n", rows - kMostRows);
}

void print_comparison(const Graph& graph, const Comparison& found) {
    std::printf("b takes %s and needs %s at the peak\n", more_or_less(found.time_b - found.time_a).c_str(),
                more_or_less(found.peak_b - found.peak_a).c_str());
    std::printf("it runs ops %d times more (%s) and %d times less (%s)\n", found.more_runs,
                format_duration(found.more_time).c_str(), found.fewer_runs,
                format_duration(found.fewer_time).c_str());
    if (found.ops.empty()) return;
    std::printf("  %-8s %9s %12s %14s %14s  %s\n", "op", "runs", "time", "at a's peak", "at b's peak", "");
    for (std::size_t i = 0; i < found.ops.size() && i < kMostRows; ++i) {
        const OpDifference& d = found.ops[i];
        const Op& op = graph.ops[d.op];
        std::printf("  %-8lld %3d -> %-3d %11s %14s %14s  %s %s\n", static_cast<long long>(d.op.value),
                    d.runs_a, d.runs_b, change_of(d.time).c_str(), format_bytes(d.at_peak_a).c_str(),
                    format_bytes(d.at_peak_b).c_str(), op.name.c_str(), op.module.c_str());
    }
    print_more(found.ops.size());
}

/// What can be said without the graph.
void print_runs(const std::vector<RunDifference>& found) {
    std::printf("%zu ops run a different number of times\n", found.size());
    for (std::size_t i = 0; i < found.size() && i < kMostRows; ++i)
        std::printf("  op %-6lld %d -> %d\n", static_cast<long long>(found[i].op.value), found[i].a,
                    found[i].b);
    print_more(found.size());
}

json to_json(const Comparison& found) {
    json ops = json::array();
    for (const OpDifference& d : found.ops)
        ops.push_back({{"op", d.op.value},
                       {"a", d.runs_a},
                       {"b", d.runs_b},
                       {"time_ns", d.time.value},
                       {"at_peak_a_bytes", d.at_peak_a.value},
                       {"at_peak_b_bytes", d.at_peak_b.value}});
    return {{"ops", std::move(ops)},
            {"time_ns", (found.time_b - found.time_a).value},
            {"peak_bytes", (found.peak_b - found.peak_a).value},
            {"more_runs", found.more_runs},
            {"fewer_runs", found.fewer_runs},
            {"more_time_ns", found.more_time.value},
            {"fewer_time_ns", found.fewer_time.value}};
}

json to_json(const std::vector<RunDifference>& found) {
    json ops = json::array();
    for (const RunDifference& d : found) ops.push_back({{"op", d.op.value}, {"a", d.a}, {"b", d.b}});
    return {{"ops", std::move(ops)}};
}

/// Where the graph is found: what its ops cost. Else, which run more often.
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
    std::optional<Comparison> compared;
    if (graph) {
        Result<Comparison> found = compare(*graph, *a, *b);
        if (!found) return found.error();
        compared = std::move(*found);
        const Result<void> drawn = plot.empty() ? Result<void>() : draw_comparison_file(*graph, *a, *b, plot);
        if (!drawn) return drawn.error();
    }
    const std::vector<RunDifference> runs = run_differences(a->steps, b->steps);
    if (output.json) {
        const auto side = [](const Schedule& s) {
            return json{{"solver", s.solver},
                        {"budget_bytes", s.budget.value},
                        {"overhead", s.overhead},
                        {"peak_bytes", s.peak.value},
                        {"steps", s.steps.size()}};
        };
        json object = compared ? to_json(*compared) : to_json(runs);
        object["a"] = side(*a);
        object["b"] = side(*b);
        object["same_steps"] = a->steps == b->steps;
        print_json(object);
        return Exit::success;
    }
    print_headers(*a, *b);
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
    CLI::App* app = commands.add("diff", "what two schedules of one graph do differently",
                                 "rematlas diff a.schedule.json b.schedule.json", output,
                                 [] { return diff_command(a, b, graph, plot, output); });
    app->add_option("a", a, "a .schedule.json file")->required();
    app->add_option("b", b, "another one")->required();
    app->add_option("--plot", plot, "draw both to this file (.svg, .png, .pdf)");
    app->add_option("--graph", graph, "their graph (default: the file beside a with the digest it names)");
}

}  // namespace rematlas
