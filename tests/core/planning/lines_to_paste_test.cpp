// Tests the lines that users can paste to use an exported file. tests/app/cli and tests/runtime/python run
// these lines.
#include "core/planning/lines_to_paste.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/costs/link_profile.h"
#include "core/graph/graph_file.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Place = LinesToPaste::Place;

/// Returns a graph from a Python model. If `optimizer` is given, the step ends with its updates.
Graph of_python(const char* optimizer = nullptr) {
    Graph graph = *read_graph(REMATLAS_SOURCE_DIR "/resources/graphs/mlp.graph.json");
    json provenance = {{"device", "cpu"}, {"captured", "recorded"}};
    if (optimizer) {
        provenance["optimizer"] = optimizer;
        graph.ops[OpId(static_cast<int>(graph.ops.size()) - 1)].phase = Phase::optimizer;
    }
    graph.provenance = std::make_shared<const json>(provenance);
    return graph;
}

/// Returns the lines for a place; empty if there are none.
std::string lines_at(Place place, const ExportedFile& exported) {
    for (const LinesToPaste& lines : lines_to_paste(exported))
        if (lines.place == place) return lines.text;
    return {};
}

TEST(LinesToPasteOf, plans_of_python_are_applied) {
    const Graph graph = of_python();
    const Schedule schedule;
    const auto all = lines_to_paste(
        {.form = ExportForm::plan, .file = "a \"b\".plan", .graph = &graph, .schedule = &schedule});
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(
        all[0].text,
        "import rematlas  # before the model is made\n\nrematlas.apply(model, plan=\"a \\\"b\\\".plan\")\n");
}

TEST(LinesToPasteOf, plans_that_end_with_updates_take_the_optimizer) {
    const Graph fused = of_python("fused: each parameter is updated by an op of the plan"),
                recorded = of_python("muon: its own step runs behind the backward");
    const Schedule schedule;
    EXPECT_THAT(
        lines_at(Place::program,
                 {.form = ExportForm::plan, .file = "x.plan", .graph = &fused, .schedule = &schedule}),
        HasSubstr("rematlas.apply(model, plan=\"x.plan\", optimizer=optimizer)\n"));
    EXPECT_THAT(lines_to_paste(
                    {.form = ExportForm::plan, .file = "x.plan", .graph = &recorded, .schedule = &schedule}),
                IsEmpty())
        << "apply refuses them";
}

TEST(LinesToPasteOf, plans_with_updates_for_an_absent_card_are_not_applied) {
    Graph graph = of_python("fused: each parameter is updated by an op of the plan");
    json provenance = *graph.provenance;
    provenance["times"] = "roofline model of NVIDIA H100 SXM";
    graph.provenance = std::make_shared<const json>(provenance);
    const Schedule schedule;
    EXPECT_THAT(
        lines_to_paste({.form = ExportForm::plan, .file = "x.plan", .graph = &graph, .schedule = &schedule}),
        IsEmpty())
        << "the plan does not say which of the program's optimizers does the updates";
}

TEST(LinesToPasteOf, plans_whose_weights_live_on_the_host_say_so_over_their_links) {
    const Graph graph = of_python("fused: each parameter is updated by an op of the plan");
    Schedule schedule;
    schedule.links = *links_named("pcie5");
    for (const TensorId t : graph.tensors.ids())
        if (graph.tensors[t].kind == TensorKind::parameter) schedule.homes.on_host.push_back(t);
    ASSERT_FALSE(schedule.homes.on_host.empty());
    EXPECT_THAT(
        lines_at(Place::program,
                 {.form = ExportForm::plan, .file = "x.plan", .graph = &graph, .schedule = &schedule}),
        HasSubstr("optimizer=optimizer, offload=\"weights\", links=\"pcie5\")"));
    const Graph without = of_python();
    EXPECT_THAT(lines_to_paste(
                    {.form = ExportForm::plan, .file = "x.plan", .graph = &without, .schedule = &schedule}),
                IsEmpty())
        << "nobody updates them";
}

TEST(LinesToPasteOf, plans_of_model_files_are_run) {
    const Graph graph = *read_graph(REMATLAS_SOURCE_DIR "/resources/graphs/gpt.graph.json");
    const Schedule schedule;
    EXPECT_EQ(
        lines_at(Place::shell,
                 {.form = ExportForm::plan, .file = "it's.plan", .graph = &graph, .schedule = &schedule}),
        "rematlas run gpt_scripted.pt 'it'\\''s.plan' --verify\n");
    Graph nothing = graph;
    nothing.replay = nullptr;
    EXPECT_THAT(lines_to_paste(
                    {.form = ExportForm::plan, .file = "x.plan", .graph = &nothing, .schedule = &schedule}),
                IsEmpty())
        << "there is nothing to run";
}

TEST(LinesToPasteOf, schedules_name_their_graph_and_are_applied_where_it_lies_beside_them) {
    const Graph graph = of_python();
    const Schedule schedule;
    ExportedFile exported{.form = ExportForm::schedule,
                          .file = "to/s.schedule.json",
                          .graph = &graph,
                          .graph_file = "to/g.graph.json",
                          .schedule = &schedule};
    EXPECT_THAT(lines_at(Place::program, exported), HasSubstr("plan=\"to/s.schedule.json\""));
    EXPECT_EQ(lines_at(Place::shell, exported),
              "rematlas check to/g.graph.json to/s.schedule.json\n"
              "rematlas export to/s.schedule.json --graph to/g.graph.json -o to/s.plan\n");
    exported.graph_file = "elsewhere/g.graph.json";
    EXPECT_EQ(lines_at(Place::program, exported), "");
    exported.graph_file.clear();
    EXPECT_THAT(lines_to_paste(exported), IsEmpty());
}

TEST(LinesToPasteOf, steps_that_fit_are_not_checkpointed) {
    const auto lines = [](ExportForm form) {
        return lines_to_paste({.form = form, .file = "x", .checkpoints = false});
    };
    ASSERT_THAT(lines(ExportForm::torchtitan), SizeIs(1));
    EXPECT_EQ(lines(ExportForm::torchtitan)[0].text, "--compile.memory_policy none\n");
    EXPECT_THAT(lines(ExportForm::policy), SizeIs(1)) << "a context_fn without regions is an error";
}

TEST(LinesToPasteOf, forms_are_those_of_the_command_line) {
    EXPECT_EQ(export_form_from("torchtitan"), ExportForm::torchtitan);
    EXPECT_EQ(export_form_from("chrome-trace"), std::nullopt) << "it is looked at, not pasted";
}

}  // namespace
}  // namespace rematlas
