#include "core/planning/lines_to_paste.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/costs/builtin_profiles.h"
#include "core/costs/link_profile.h"
#include "core/solving/copies.h"

namespace rematlas {
namespace {

namespace fs = std::filesystem;
using Place = LinesToPaste::Place;

constexpr std::array form_words{std::pair{"schedule", ExportForm::schedule},
                                std::pair{"sweep", ExportForm::sweep},
                                std::pair{"plan", ExportForm::plan},
                                std::pair{"policy", ExportForm::policy},
                                std::pair{"torchtitan", ExportForm::torchtitan},
                                std::pair{"csv", ExportForm::csv},
                                std::pair{"dot", ExportForm::dot}};

/// Returns the text as a Python string literal.
std::string python_text(const std::string& text) {
    std::string literal = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') literal += '\\';
        literal += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return literal + '"';
}

/// Returns the text as one word of a shell command, quoted if necessary.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + '\'';
}

std::string told_by(const Graph& graph, const char* key) {
    if (!graph.provenance || !graph.provenance->is_object()) return {};
    const auto found = graph.provenance->find(key);
    return found != graph.provenance->end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool ends_with_updates(const Graph& graph) {
    return std::any_of(graph.ops.begin(), graph.ops.end(),
                       [](const Op& op) { return op.phase == Phase::optimizer; });
}

/// Says whether the graph was recorded for a device that was not present. Its times are then predicted.
bool is_of_absent_device(const Graph& graph) {
    return told_by(graph, "times").starts_with("roofline model");
}

/// Says whether `rematlas.apply` can use plans of the graph. There are two cases:
/// - The graph was captured from a Python model. If it contains the updates of an optimizer, the optimizer
///   must be fused, and the graph must have been recorded on the device that it is for.
/// - The graph was captured from a TorchScript file, with the caller's loss and without updates. The Python
///   model behind the file can then train with the plan.
bool is_for_apply(const Graph& graph) {
    if (!graph.replay) return false;
    const std::string file = told_by(graph, "model");
    if (file.empty() && ends_with_updates(graph))
        return told_by(graph, "optimizer").starts_with("fused") && !is_of_absent_device(graph);
    if (file.empty()) return true;
    return !ends_with_updates(graph) && told_by(graph, "loss") == "output" &&
           fs::path(file).extension() != ".pt2";
}

/// Returns the value that `rematlas.apply` needs as `links=` for these links. If no profile has exactly these
/// links, returns the name of a common profile.
std::string name_of_links(const Links& links) {
    for (const auto& profiles : {builtin_links(), builtin_profiles()})
        for (const std::string& name : names_of(profiles))
            if (const Result<Links> found = links_named(name); found && *found == links) return name;
    return "pcie4";
}

bool copies_activations(const Schedule& schedule) {
    const std::vector<TensorId>& at_home = schedule.homes.on_host;
    return std::any_of(schedule.steps.begin(), schedule.steps.end(), [&](const Step& step) {
        return step.kind == StepKind::offload &&
               std::find(at_home.begin(), at_home.end(), step.tensor()) == at_home.end();
    });
}

/// Returns the call of `apply` with the file; an empty text if Python cannot train with the file.
std::string apply_lines(const ExportedFile& exported) {
    const Graph& graph = *exported.graph;
    const Schedule& schedule = *exported.schedule;
    const bool updates = ends_with_updates(graph), from_host = !schedule.homes.on_host.empty();
    if (!is_for_apply(graph) || (from_host && !updates)) return {};
    if (!moves_in_training(graph, schedule.steps, schedule.homes)) return {};
    std::string text = "import rematlas  # before the model is made\n\n";
    if (updates) text += "# optimizer: the program's own, made with fused=True\n";
    text += "rematlas.apply(model, plan=" + python_text(exported.file);
    if (updates) text += ", optimizer=optimizer";
    if (from_host) {
        const Links links = schedule.links ? *schedule.links : graph.device ? graph.device->links : Links{};
        text += std::string(", offload=") + (copies_activations(schedule) ? "\"all\"" : "\"weights\"") +
                ", links=" + python_text(name_of_links(links));
    }
    return text + ")\n";
}

/// Returns the path of the model's file if it is in the folder of the graph's file, else only the name of the
/// model's file. Returns an empty text if the model does not come from a file.
std::string model_beside(const ExportedFile& exported) {
    const std::string name = fs::path(told_by(*exported.graph, "model")).filename().string();
    if (name.empty() || exported.graph_file.empty()) return name;
    const fs::path beside = fs::path(exported.graph_file).parent_path() / name;
    std::error_code ignored;
    return fs::exists(beside, ignored) ? beside.string() : name;
}

/// Returns the command that runs the plan in the file `plan`. Returns an empty text if the model does not
/// come from a file, or if the graph cannot be replayed.
std::string run_line(const ExportedFile& exported, const std::string& plan) {
    const std::string model = model_beside(exported);
    if (model.empty() || !exported.graph->replay) return {};
    return "rematlas run " + shell_word(model) + ' ' + shell_word(plan) + " --verify\n";
}

void add_pasted(std::vector<LinesToPaste>& all, Place place, std::string text) {
    if (!text.empty()) all.push_back({place, std::move(text)});
}

std::vector<LinesToPaste> lines_of_plan(const ExportedFile& exported) {
    std::vector<LinesToPaste> all;
    add_pasted(all, Place::program, apply_lines(exported));
    add_pasted(all, Place::shell, run_line(exported, exported.file));
    return all;
}

/// Returns the lines for a schedule. A program looks for the graph in the folder of the schedule, so it needs
/// both files in one folder. A command gets the path of the graph.
std::vector<LinesToPaste> lines_of_schedule(const ExportedFile& exported) {
    if (exported.graph_file.empty()) return {};
    std::vector<LinesToPaste> all;
    const fs::path file = exported.file, graph = exported.graph_file;
    if (file.parent_path() == graph.parent_path()) add_pasted(all, Place::program, apply_lines(exported));
    std::string stem = exported.file;
    constexpr std::string_view ending = ".schedule.json";
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
    const std::string schedule = shell_word(exported.file), plan = stem + ".plan";
    std::string shell = "rematlas check " + shell_word(graph.string()) + ' ' + schedule + '\n';
    if (exported.graph->replay)
        shell += "rematlas export " + schedule + " --graph " + shell_word(graph.string()) + " -o " +
                 shell_word(plan) + '\n';
    add_pasted(all, Place::shell, shell + run_line(exported, plan));
    return all;
}

std::vector<LinesToPaste> lines_of_policy(const ExportedFile& exported) {
    const std::string policy = "policy = rematlas.checkpoint_policy(" + python_text(exported.file) + ")\n";
    std::vector<LinesToPaste> all{{Place::program, "import rematlas\n\n" + policy + "policy.wrap(model)\n"}};
    if (exported.checkpoints)
        add_pasted(
            all, Place::forward,
            "import rematlas\nfrom torch.utils.checkpoint import checkpoint\n\n" + policy +
                "\n\ndef checkpointed(block, *args):  # in place of block(*args), for the blocks in order\n"
                "    return checkpoint(block, *args, use_reentrant=False, context_fn=policy)\n");
    return all;
}

std::string torchtitan_line(const ExportedFile& exported) {
    if (!exported.checkpoints) return "--compile.memory_policy none\n";
    return "--compile.memory_policy full --compile.full_recompute_save_ops \"$(grep -v '^#' " +
           shell_word(exported.file) + ")\"\n";
}

std::string csv_lines(const ExportedFile& exported) {
    return "import csv\n\nwith open(" + python_text(exported.file) +
           ", newline=\"\") as file:\n    rows = list(csv.DictReader(file))\n";
}

/// Returns the path of the picture: `file`, but with the ending .svg.
std::string picture_of(const std::string& file) {
    const fs::path path(file);
    return (path.parent_path() / (path.stem().string() + ".svg")).string();
}

}  // namespace

std::optional<ExportForm> export_form_from(std::string_view word) {
    for (const auto& [name, form] : form_words)
        if (word == name) return form;
    return std::nullopt;
}

std::string_view to_string(LinesToPaste::Place place) {
    switch (place) {
        case Place::program:
            return "program";
        case Place::forward:
            return "forward";
        case Place::shell:
            break;
    }
    return "shell";
}

std::vector<LinesToPaste> lines_to_paste(const ExportedFile& exported) {
    switch (exported.form) {
        case ExportForm::schedule:
            return lines_of_schedule(exported);
        case ExportForm::plan:
            return lines_of_plan(exported);
        case ExportForm::policy:
            return lines_of_policy(exported);
        case ExportForm::sweep:
            return {{Place::shell, "rematlas draw " + shell_word(exported.file) + " -o " +
                                       shell_word(picture_of(exported.file)) + '\n'}};
        case ExportForm::torchtitan:
            return {{Place::shell, torchtitan_line(exported)}};
        case ExportForm::csv:
            return {{Place::program, csv_lines(exported)}};
        case ExportForm::dot:
            break;
    }
    return {{Place::shell, "dot -Tsvg " + shell_word(exported.file) + " -o " +
                               shell_word(picture_of(exported.file)) + '\n'}};
}

}  // namespace rematlas
