// The lines that make use of an exported file: for a training program, or for a shell.
//
//     const ExportedFile file{.form = ExportForm::plan, .file = "gpt.plan", .graph = &graph};
//     for (const LinesToPaste& lines : lines_to_paste(file)) print(lines.text);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

enum class ExportForm { schedule, sweep, plan, policy, torchtitan, csv, dot };

/// By the word that `rematlas export --format` takes. None: of that form nobody pastes anything.
std::optional<ExportForm> export_form_from(std::string_view word);

struct ExportedFile {
    ExportForm form = ExportForm::plan;
    std::string file;                    ///< as it stands in the lines
    const Graph* graph = nullptr;        ///< of a schedule, a plan, a policy
    std::string graph_file = {};         ///< empty: the graph lies in no file
    const Schedule* schedule = nullptr;  ///< of a schedule and a plan
    bool checkpoints = true;             ///< of a policy and for torchtitan: some region runs again
};

struct LinesToPaste {
    enum class Place {
        program,  ///< the training program, where it has made `model` (and `optimizer`)
        forward,  ///< a forward that checkpoints its blocks itself
        shell,
    };
    Place place = Place::program;
    std::string text;  ///< whole lines
};

/// As `rematlas export --json` tells it: program, forward or shell.
std::string_view to_string(LinesToPaste::Place place);

/// In the order in which people want them. Empty: nothing is to be pasted, or nothing can be run: a graph
/// that was not captured from a model, a plan whose copies training from Python cannot make.
std::vector<LinesToPaste> lines_to_paste(const ExportedFile& exported);

}  // namespace rematlas
