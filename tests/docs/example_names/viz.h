// Names that the examples at the top of viz' headers use without defining them (in addition to core.h).
#pragma once

#include <stop_token>

#include "core/hierarchy/decompose.h"
#include "viz/layout/cluster_layout.h"
#include "viz/paint/canvas.h"

namespace rematlas::example_names {

extern const LayoutRequest request;
extern LayoutCache cache;
extern const std::stop_token token;
extern Canvas& canvas;
extern const double from, to;

}  // namespace rematlas::example_names
