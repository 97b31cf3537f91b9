// The memory of a schedule as layers, one for each part of the model.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Of a part of the model, by its place among the layers that are parts; of others by their kind.
Color layer_color(const MemoryStack& stack, std::size_t layer, const palette::Paper& paper);

/// As it is written into the picture.
std::string layer_name(const MemoryLayer& layer);

/// The layers of `scene.stack` on each other, each with its name where there is room for it.
void paint_layers(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places);

}  // namespace rematlas
