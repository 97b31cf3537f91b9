// The section about how the schedule of a report was made and how it was checked.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "viz/report/report_parts.h"

namespace rematlas {
namespace {

using nlohmann::json;
using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLongestValue = 300;

std::string value_text(const json& value) {
    std::string words = value.is_string() ? value.get<std::string>() : value.dump();
    if (words.size() <= kLongestValue) return html_text(words);
    std::size_t end = kLongestValue;
    while ((static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;  // does not cut a character in two
    return html_text(words.substr(0, end) + "…");
}

std::string seconds(double number) {
    char words[32];
    std::snprintf(words, sizeof words, "%.2f s", number);
    return words;
}

void add_solver(Facts& facts, const Schedule& schedule) {
    facts.emplace_back("Solver", html_text(schedule.solver));
    if (schedule.config && !schedule.config->empty())
        facts.emplace_back("Its options", value_text(*schedule.config));
    std::string pins;
    for (const Pin& pin : schedule.pins) pins += (pins.empty() ? "" : ", ") + to_string(pin);
    if (!pins.empty()) facts.emplace_back("Pins, decided by the user", html_text(pins));
    facts.emplace_back("Time to solve", html_text(seconds(schedule.solve_seconds)));
    if (!schedule.bound) return;
    std::string words = "proven";
    if (schedule.bound->over)
        words += " for schedules of the class " + std::string(to_string(*schedule.bound->over));
    words += " in " + seconds(schedule.bound->seconds);
    if (schedule.bound->nodes.value_or(0) > 0)
        words += ", with " + std::to_string(*schedule.bound->nodes) + " nodes of branch and bound";
    facts.emplace_back("Lower bound", html_text(words));
}

void add_graph(Facts& facts, const Graph& graph) {
    facts.emplace_back("Graph",
                       html_text(graph.name + ", " + std::to_string(graph.ops.size()) + " operations on " +
                                 std::to_string(graph.tensors.size()) + " tensors"));
    if (!graph.sha256.empty()) facts.emplace_back("Its SHA-256", html_text(graph.sha256));
    if (!graph.provenance || !graph.provenance->is_object()) return;
    for (const auto& [key, value] : graph.provenance->items()) facts.emplace_back(key, value_text(value));
}

}  // namespace

void add_making(HtmlPage& page, const ReportOf& of, const Schedule* schedule, bool is_planned) {
    Facts facts;
    if (schedule && is_planned) add_solver(facts, *schedule);
    if (of.graph) add_graph(facts, *of.graph);
    if (!of.made_by.empty()) facts.emplace_back("Report by", html_text(of.made_by));
    page.heading("How it was made");
    page.facts(facts);
    if (schedule)
        page.note(
            "Before this report was written, a checker that shares no code with the solvers played all " +
            std::to_string(schedule->steps.size()) + " steps" +
            (of.schedules.size() > 1 ? ", and those of the other plans" : "") +
            ": every operation found its inputs, the memory and the time are those that were predicted, the "
            "budget is kept, and all results are there at the end.");
    if (!schedule)
        page.note(
            "The points of a sweep were checked when they were found. Its file does not hold their steps, so "
            "that they could not be played again for this report.");
}

}  // namespace rematlas
