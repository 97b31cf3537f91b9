// The painters behind `draw.h`. Each returns the bytes of one picture.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/planning/fits_file.h"
#include "core/planning/sweep.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// The style of notes beside a picture.
inline const TextStyle kNote{.size = 10, .color = palette::kLight.quiet};

struct BlockPicture {
    const Graph& graph;
    const Schedule* schedule = nullptr;
    const BlockView& view;
    const Layout& layout;
    int depth = 0;       ///< number of expanded levels
    int full_depth = 0;  ///< number of existing levels; 0 if the view is not expanded by levels
};
Result<std::string> draw_blocks(const BlockPicture& picture, PictureFormat format);

Result<std::string> draw_schedule(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                                  PictureFormat format);

/// Returns the title of a picture of a schedule: the graph, the solver, the budget.
std::string schedule_title(const Graph& graph, const Schedule& schedule);

Result<std::string> draw_flame(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                               PictureFormat format);

/// Fails if one of the schedules cannot be simulated; the message names the first step that fails.
Result<std::string> draw_comparison(const Graph& graph, const Schedule& a, const Schedule& b,
                                    PictureFormat format);

Result<std::string> draw_sweep(const Sweep& sweep, const Graph* graph, PictureFormat format);

Result<std::string> draw_fits(const FitsAnswer& fits, PictureFormat format);

/// The style of a picture in an HTML page. Such a picture has no header, because the page has a title for it.
struct PageStyle {
    const palette::Paper& paper = palette::kLight;
    std::string ids = {};  ///< prefix of the picture's ids
};
/// Return the picture as SVG.
Result<std::string> schedule_in_page(const Graph& graph, const Schedule& schedule,
                                     const Simulation& simulation, const PageStyle& style);
Result<std::string> sweep_in_page(const Sweep& sweep, const Graph* graph, const PageStyle& style);

}  // namespace rematlas
