// Paints the memory of a schedule as layers, one for each part of the model.
#pragma once

#include "viz/paint/schedule_painter.h"

namespace rematlas {

/// Returns the colour of a layer. The colour of a part of the model depends on the position of the part among
/// all parts. The colour of any other layer depends on the layer's kind.
Color layer_color(const MemoryStack& stack, std::size_t layer, const palette::Paper& paper);

/// Returns the name of the layer as it is written into the picture.
std::string layer_name(const MemoryLayer& layer);

/// Paints the layers of `scene.stack` above each other. Each layer has its name if there is room.
void paint_layers(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places);

}  // namespace rematlas
