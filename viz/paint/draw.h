// Pictures as files: SVG, PNG or PDF by the extension of the path. No display is needed.
//
// Each call writes the whole file or nothing. Errors, each one line: an unknown extension, a schedule or
// sweep that belongs to another graph, a build without cairo, no layout worker (for `draw_graph_file` only),
// a file that cannot be written.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/fits_file.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"

namespace rematlas {

/// The ladder graph of the blocks: forward ops on the way down, their gradients on the way up, saved tensors
/// between them. With a schedule, colours tell what is kept, recomputed and offloaded. `depth`: how many
/// levels of blocks are expanded; without it, as many as stay readable (about 150 items).
Result<void> draw_graph_file(const Graph& graph, const Schedule* schedule, const std::filesystem::path& path,
                             std::optional<int> depth = std::nullopt);

/// The same of a view with its layout, as they are on a screen: whatever blocks are expanded there.
Result<void> draw_view_file(const Graph& graph, const Schedule* schedule, const BlockView& view,
                            const Layout& layout, const std::filesystem::path& path);

/// Lanes of what runs when, above the memory over time with the budget.
Result<void> draw_schedule_file(const Graph& graph, const Schedule& schedule,
                                const std::filesystem::path& path);

/// The runs of a schedule, or without one of the step that runs each op once, as a flame chart: a row for
/// each level of the module path.
Result<void> draw_flame_file(const Graph& graph, const Schedule* schedule, const std::filesystem::path& path);

/// Two schedules above each other, what only one of them does, and the memory of both.
Result<void> draw_comparison_file(const Graph& graph, const Schedule& a, const Schedule& b,
                                  const std::filesystem::path& path);

/// The trade-off between memory and time, a curve a solver. With the graph, also its peak without
/// recomputation and the least peak that any schedule can have.
Result<void> draw_sweep_file(const Sweep& sweep, const std::filesystem::path& path,
                             const Graph* graph = nullptr);

/// A row for each card: how much of its memory the step takes in each way, and at what cost.
Result<void> draw_fits_file(const FitsAnswer& fits, const std::filesystem::path& path);

/// Errors: an extension of no picture. For those who would else know it only after a long computation.
Result<void> check_picture_path(const std::filesystem::path& path);

/// True when this build can write pictures.
bool can_draw_pictures();

}  // namespace rematlas
