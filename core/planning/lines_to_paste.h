// Makes the lines that use an exported file, in a training program or in a shell.
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

/// Returns the form of the files that `rematlas export --format WORD` writes. Returns nothing if these files
/// have no lines to paste.
std::optional<ExportForm> export_form_from(std::string_view word);

struct ExportedFile {
    ExportForm form = ExportForm::plan;
    std::string file;                    ///< path of the file, as the lines should name it
    const Graph* graph = nullptr;        ///< needed for a schedule, a plan or a policy
    std::string graph_file = {};         ///< path of the graph's file; empty if there is none
    const Schedule* schedule = nullptr;  ///< needed for a schedule or a plan
    bool checkpoints = true;             ///< for a policy or torchtitan: whether some region is recomputed
};

struct LinesToPaste {
    enum class Place {
        program,  ///< the training program, after it has made `model` (and `optimizer`)
        forward,  ///< a `forward` method that checkpoints its blocks itself
        shell,
    };
    Place place = Place::program;
    std::string text;  ///< complete lines
};

/// Returns the word for the place, as in the output of `rematlas export --json`: program, forward or shell.
std::string_view to_string(LinesToPaste::Place place);

/// Returns the lines, the most useful first. Returns nothing if files of this form have no lines to paste, or
/// if the plan cannot be run: the graph was not captured from a model, or training from Python cannot make
/// the plan's copies.
std::vector<LinesToPaste> lines_to_paste(const ExportedFile& exported);

}  // namespace rematlas
