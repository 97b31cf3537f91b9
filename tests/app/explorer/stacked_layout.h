// A layout function for tests that starts no layout program.
#pragma once

#include <stop_token>

#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas::explorer {

/// Puts the items below each other. Tests use it if they do not check how the graph looks.
inline Result<Layout> stacked(const LayoutRequest& request, std::stop_token) {
    Layout layout;
    double y = 0;
    for (const LayoutItem& item : request.items) {
        layout.items.push_back({0, y, item.size.width, item.size.height});
        y += item.size.height + 10;
    }
    layout.size = {300, y};
    layout.edges.resize(request.edges.size());
    layout.clusters.assign(request.clusters.size(), Rect{0, 0, 300, y});
    return layout;
}

}  // namespace rematlas::explorer
