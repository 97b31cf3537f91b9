#include "tests/runtime/captured_model.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/base/files.h"
#include "core/schedule/simulate.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/verify/plan_run.h"

namespace rematlas::test {

std::filesystem::path model_path(const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(REMATLAS_RUNTIME_MODELS) / name;
    return path.has_extension() ? path : std::filesystem::path(path.string() + ".pt");
}

std::vector<InputSpec> model_inputs(const std::string& name) {
    const Result<std::string> text = read_file(model_path(name).replace_extension(".json"));
    if (!text) throw std::runtime_error(text.error().message + " (written by the fixtures of ctest)");
    const nlohmann::json description = nlohmann::json::parse(*text);
    std::vector<InputSpec> specs;
    for (const auto& text : description["inputs"])
        specs.push_back(parse_input_spec(text.get<std::string>()).take());
    return specs;
}

DeviceRuntime& cpu() {
    static const std::unique_ptr<DeviceRuntime> device = cpu_runtime();
    return *device;
}

DeviceRuntime& step_device() {
    static const std::unique_ptr<DeviceRuntime> device = [] {
        const char* name = std::getenv("REMATLAS_TEST_DEVICE");
        Result<std::unique_ptr<DeviceRuntime>> opened = open_device(name ? name : "cpu");
        if (opened) return opened.take();
        std::fprintf(stderr, "%s\n", opened.error().message.c_str());
        std::exit(2);
    }();
    return *device;
}

CaptureOptions quick(const std::string& name) {
    CaptureOptions options{.inputs = model_inputs(name)};
    options.profile.most_replays = 1;
    options.profile.fewest_replays = 1;
    return options;
}

const Graph& captured(const std::string& name) {
    static std::map<std::string, Graph> graphs;
    const auto found = graphs.find(name);
    if (found != graphs.end()) return found->second;
    Result<Graph> graph = capture(model_path(name), quick(name), step_device());
    if (!graph) ADD_FAILURE() << graph.error().message;
    return graphs.emplace(name, graph ? graph.take() : Graph()).first->second;
}

Plan plan_of(const Graph& graph, const RunSequence& runs) {
    Plan plan{.graph = graph,
              .schedule = {.graph = graph.name, .graph_sha256 = graph.sha256, .solver = "test"}};
    const FlatGraph flat = flatten(graph);
    plan.schedule.steps = lower(flat, runs);
    const Result<Simulation> simulation = simulate(graph, plan.schedule.steps);
    if (!simulation) {
        ADD_FAILURE() << simulation.error().message;
        return plan;
    }
    plan.schedule.peak = simulation->peak;
    plan.schedule.budget = simulation->peak;
    plan.schedule.time = simulation->time;
    plan.schedule.overhead = double(simulation->time.value) / double(flat.base_time);
    return plan;
}

std::vector<std::string> modules_of(const std::string& group) {
    const auto path = model_path("modules/modules").replace_extension(".json");
    const nlohmann::json table = nlohmann::json::parse(read_file(path).take());
    std::vector<std::string> names;
    for (const auto& name : table.at(group)) names.push_back("modules/" + name.get<std::string>());
    return names;
}

bool has_host_tensors(const Graph& graph) {
    const Result<Tape> tape = tape_of(graph);
    if (!tape) return false;
    return std::any_of(tape->operands.begin(), tape->operands.end(),
                       [](const Operand& operand) { return operand.on_host && operand.tensor.valid(); });
}

void expect_identical(const std::string& name, const Plan& plan, const StepLinks& links) {
    const bool copies = class_of(plan.schedule.steps) > ScheduleClass::any_order;
    for (const bool as_graphs : {false, true}) {
        if (as_graphs && (copies || !step_device().can_capture_graphs())) continue;
        const Result<RunReport> report =
            run_plan(plan, model_path(name),
                     {.steps = 3, .verify = true, .cuda_graphs = as_graphs, .links = links}, step_device());
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->verified) << report->mismatch;
        EXPECT_LE(report->measured_peak, report->predicted_peak);
        if (!has_host_tensors(plan.graph)) {
            EXPECT_EQ(report->measured_peak, report->predicted_peak) << report->why_no_cuda_graphs;
        }
    }
}

RunSequence shuffled_with_reruns(const FlatGraph& graph, double rerun_probability, bool shuffle,
                                 std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int> missing(graph.op_count);
    std::vector<std::int32_t> ready;
    for (int op = 0; op < graph.op_count; ++op) {
        missing[op] = static_cast<int>(graph.inputs[op].size());
        if (missing[op] == 0) ready.push_back(op);
    }
    RunSequence runs, again;
    while (!ready.empty()) {
        const std::size_t pick =
            shuffle ? random() % ready.size() : std::min_element(ready.begin(), ready.end()) - ready.begin();
        const std::int32_t op = ready[pick];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
        while (!again.empty() && std::uniform_real_distribution<>()(random) < rerun_probability)
            runs.push_back(again[random() % again.size()]);
        runs.push_back(op);
        if (graph.recomputable[op]) again.push_back(op);
        for (std::int32_t made : graph.outputs[op])
            for (std::int32_t user : graph.users[made])
                if (--missing[user] == 0) ready.push_back(user);
    }
    return runs;
}

}  // namespace rematlas::test

int main(int argc, char** argv) {
    rematlas::CountingAllocator::install();
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
