#include "runtime/replay/chrome_trace.h"

#include <nlohmann/json.hpp>

namespace rematlas {

std::string chrome_trace(const Graph& graph, const std::vector<Step>& steps,
                         const std::vector<StepMeasure>& measures) {
    nlohmann::json events = nlohmann::json::array();
    events.push_back({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", graph.name}}}});
    events.push_back(
        {{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", "thread_name"}, {"args", {{"name", "compute"}}}});
    IdVector<OpId, int> runs(graph.ops.size(), 0);
    for (std::size_t i = 0; i < steps.size() && i < measures.size(); ++i) {
        const double end = double(measures[i].end) * 1e-3;  // in microseconds
        if (steps[i].runs()) {
            const OpId op = steps[i].op();
            const Op& info = graph.ops[op];
            const bool again = runs[op]++ > 0;
            events.push_back(
                {{"ph", "X"},
                 {"pid", 1},
                 {"tid", 1},
                 {"name", info.name},
                 {"cat", again ? "recomputation" : std::string(to_string(info.phase))},
                 {"ts", double(measures[i].start) * 1e-3},
                 {"dur", double(measures[i].end - measures[i].start) * 1e-3},
                 {"args", {{"op", op.value}, {"module", info.module}, {"step", i}, {"run", runs[op]}}}});
        }
        events.push_back({{"ph", "C"},
                          {"pid", 1},
                          {"name", "bytes alive"},
                          {"ts", end},
                          {"args", {{"bytes", measures[i].alive}}}});
    }
    return nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace rematlas
