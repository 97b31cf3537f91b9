// The memory of a schedule as layers, one for each part of the model.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// The colour of a layer. It depends on the place among the parts for a part of the model, and on the kind
/// for another layer.
Color layer_color(const MemoryStack& stack, std::size_t layer, const palette::Paper& paper);

/// Paints the layers of `scene.stack` on each other, each with its name if there is room for it.
void paint_layers(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places);

}  // namespace rematlas
