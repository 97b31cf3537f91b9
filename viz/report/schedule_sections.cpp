#include <algorithm>
#include <map>

#include "core/base/sizes.h"
#include "core/schedule/simulate.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/painters.h"
#include "viz/report/report_parts.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostBlocks = 40, kMostModules = 20, kMostTensors = 20;

double part_of(std::int64_t value, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(value) / static_cast<double>(whole) : 0;
}

void add_figures(HtmlPage& page, const Graph& graph, const Schedule& schedule, const StepFigures& figures) {
    const CheckReport& check = figures.check;
    std::vector<std::pair<std::string, std::string>> rows;
    rows.emplace_back("Peak", html_bytes(check.peak));
    if (schedule.budget.value > 0) rows.emplace_back("Budget", html_bytes(schedule.budget));
    if (schedule.addresses)
        rows.emplace_back("In one piece of memory", html_bytes(schedule.addresses->arena));
    rows.emplace_back("Peak without recomputation", html_bytes(figures.keep_all_peak));
    rows.emplace_back("There for the whole step", html_bytes(figures.resident));
    rows.emplace_back(figures.check.host_peak.value > 0 ? "No schedule without copies needs less than"
                                                        : "No schedule needs less than",
                      html_bytes(figures.least));
    rows.emplace_back("Time", html_time(check.time));
    rows.emplace_back("Time without recomputation", html_time(figures.keep_all_time));
    rows.emplace_back("Extra time", html_overhead(check.overhead));
    if (schedule.bound) {
        rows.emplace_back("No schedule costs less than", html_overhead(schedule.bound->overhead));
        rows.emplace_back("Distance to it", html_share(schedule.bound->gap));
    }
    rows.emplace_back("Operations", html_count(graph.ops.size()));
    rows.emplace_back("Runs", html_count(check.runs));
    rows.emplace_back("Runs that compute again", html_count(check.reruns));
    if (figures.copied_to_host.value > 0)
        rows.emplace_back("Copied to the host", html_bytes(figures.copied_to_host));
    page.heading("Figures");
    page.facts(rows);
}

Result<void> add_memory(HtmlPage& page, const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    const Result<std::string> light =
        schedule_in_page(graph, schedule, *played, {.paper = palette::kLight, .ids = "memory-light-"});
    if (!light) return light.error();
    const Result<std::string> dark =
        schedule_in_page(graph, schedule, *played, {.paper = palette::kDark, .ids = "memory-dark-"});
    if (!dark) return dark.error();
    page.heading("Memory over time");
    page.picture(*light, *dark,
                 "Above, what runs when; below, how much memory is held. The grey curve is the step without "
                 "recomputation.");
    return {};
}

/// Returns the number of levels whose blocks make a table of at most `kMostBlocks` rows.
int depth_to_show(const std::vector<BlockFigures>& blocks) {
    std::map<int, std::size_t> rows;
    for (const BlockFigures& block : blocks) ++rows[block.depth];
    std::size_t sum = 0;
    int depth = 0;
    for (const auto& [level, count] : rows) {
        sum += count;
        if (level > 0 && sum > kMostBlocks) break;
        depth = level;
    }
    return depth;
}

void add_blocks(HtmlPage& page, const StepFigures& figures) {
    std::vector<std::vector<std::string>> rows;
    const int depth = depth_to_show(figures.blocks);
    for (const BlockFigures& block : figures.blocks) {
        if (block.depth > depth) continue;
        std::string indent;
        for (int i = 0; i < block.depth; ++i) indent += "\u2003";
        rows.push_back(
            {html_text(indent + numbered_block(block.name, block.path)), html_count(block.ops),
             html_time(block.time),
             html_bar(part_of(block.at_peak.value, figures.check.peak.value), html_bytes(block.at_peak)),
             html_count(block.reruns), html_time(block.extra)});
    }
    page.heading("Blocks");
    page.note("Each with its backward pass. At the peak, " + format_bytes(figures.resident) +
              " of parameters, inputs and constants come on top.");
    page.table({{"Block"},
                {"Operations", true},
                {"Time", true},
                {"Held at the peak", true},
                {"Computed again", true},
                {"Extra time", true}},
               rows);
}

std::string op_words(const Graph& graph, OpId id) {
    const Op& op = graph.ops[id];
    return op.name + (op.module.empty() ? "" : " of " + op.module);
}

void add_peak(HtmlPage& page, const Graph& graph, const StepFigures& figures) {
    std::vector<HeldTensor> heaviest = figures.at_peak.tensors;
    std::stable_sort(heaviest.begin(), heaviest.end(),
                     [](const HeldTensor& a, const HeldTensor& b) { return a.bytes > b.bytes; });
    const std::size_t all = heaviest.size();
    heaviest.resize(std::min(all, kMostTensors));
    std::vector<std::vector<std::string>> rows;
    for (const HeldTensor& held : heaviest) {
        const Tensor& tensor = graph.tensors[held.tensor];
        const OpId maker = figures.makers[held.tensor];
        rows.push_back(
            {html_text(tensor.name), html_text(to_string(tensor.kind)),
             html_text(maker.valid() ? op_words(graph, maker) : ""),
             html_bar(part_of(held.bytes.value, figures.check.peak.value), html_bytes(held.bytes))});
    }
    page.heading("What is held at the peak");
    std::string words = "The peak is reached";
    if (figures.peak_op.valid()) words += " while " + op_words(graph, figures.peak_op) + " runs";
    words += ", in step " + std::to_string(figures.check.peak_step) + ". " + std::to_string(all) +
             " tensors are held";
    if (figures.at_peak.workspace.value > 0)
        words += ", and " + format_bytes(figures.at_peak.workspace) + " are workspace of the operation";
    page.note(words + (all > kMostTensors ? "; the heaviest are:" : ":"));
    page.table({{"Tensor"}, {"Kind"}, {"Made by"}, {"Bytes", true}}, rows);
}

void add_recomputed(HtmlPage& page, const StepFigures& figures) {
    if (figures.recomputed.empty()) return;
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < std::min(figures.recomputed.size(), kMostModules); ++i) {
        const RecomputedModule& module = figures.recomputed[i];
        rows.push_back({html_text(module.path), html_count(module.ops), html_count(module.reruns),
                        html_bar(part_of(module.extra.value, figures.recomputed.front().extra.value),
                                 html_time(module.extra))});
    }
    page.heading("What is computed again");
    if (figures.recomputed.size() > rows.size())
        page.note("The " + std::to_string(rows.size()) + " modules of " +
                  std::to_string(figures.recomputed.size()) + " that take most time again:");
    page.table({{"Module"}, {"Operations", true}, {"Runs again", true}, {"Extra time", true}}, rows);
}

}  // namespace

Result<void> add_schedule_sections(HtmlPage& page, const Graph& graph, const Schedule& schedule,
                                   const StepFigures& figures) {
    add_figures(page, graph, schedule, figures);
    if (const Result<void> drawn = add_memory(page, graph, schedule); !drawn) return drawn;
    add_blocks(page, figures);
    add_recomputed(page, figures);
    add_peak(page, graph, figures);
    return {};
}

}  // namespace rematlas
