// Draws pictures as files: SVG, PNG or PDF, depending on the extension of the path. No display is needed.
//
// Each call writes the whole file or nothing. Errors, each in one line: an unknown extension, a schedule or
// sweep that belongs to another graph, a build without cairo, no layout worker (only for `draw_graph_file`),
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

/// Draws the ladder graph of the blocks: forward ops downwards, their gradients upwards, saved tensors
/// between them. With a schedule, colours show which tensors are kept, recomputed and offloaded. `depth` is
/// the number of levels of blocks that are expanded. If it is absent, levels are expanded until one more
/// level would show more than 150 items.
Result<void> draw_graph_file(const Graph& graph, const Schedule* schedule, const std::filesystem::path& path,
                             std::optional<int> depth = std::nullopt);

/// Draws a view with a given layout, such as the layout that a window shows.
Result<void> draw_view_file(const Graph& graph, const Schedule* schedule, const BlockView& view,
                            const Layout& layout, const std::filesystem::path& path);

/// Draws lanes that show which op runs when. Below them is the memory over time, with the budget.
Result<void> draw_schedule_file(const Graph& graph, const Schedule& schedule,
                                const std::filesystem::path& path);

/// Draws the runs of a schedule as a flame chart, with a row for each level of the module path. Without a
/// schedule, draws the step that runs each op once.
Result<void> draw_flame_file(const Graph& graph, const Schedule* schedule, const std::filesystem::path& path);

/// Draws two schedules above each other, with the runs that only one schedule has and the memory of both
/// schedules.
Result<void> draw_comparison_file(const Graph& graph, const Schedule& a, const Schedule& b,
                                  const std::filesystem::path& path);

/// Draws the trade-off between memory and time, with a curve for each solver. With the graph, also draws its
/// peak without recomputation and the least peak that any schedule can have.
Result<void> draw_sweep_file(const Sweep& sweep, const std::filesystem::path& path,
                             const Graph* graph = nullptr);

/// Draws a row for each card, with a bar for each way to run the step: as it is, with recomputation, and with
/// offloading. The bar shows how much of the card's memory the step takes. Its text has the additional time.
Result<void> draw_fits_file(const FitsAnswer& fits, const std::filesystem::path& path);

/// Fails if the path does not have the extension of a picture. Callers check the path before a long
/// computation whose result is drawn.
Result<void> check_picture_path(const std::filesystem::path& path);

/// Says whether this build can write pictures.
bool can_draw_pictures();

}  // namespace rematlas
