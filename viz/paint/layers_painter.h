// Paints the memory of a schedule as layers, one for each part of the model.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Returns the colour of a layer. For a part of the model it depends on the part's position among all parts;
/// for other layers, on their kind.
Color layer_color(const MemoryStack& stack, std::size_t layer, const palette::Paper& paper);

/// Returns the name of the layer as it is written into the picture.
std::string layer_name(const MemoryLayer& layer);

/// Paints the layers of `scene.stack` above each other. Each layer has its name if there is room.
void paint_layers(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places);

}  // namespace rematlas
