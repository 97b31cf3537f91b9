// Layout by Graphviz in a process of its own, because Graphviz can neither be cancelled nor shared between
// threads, and may abort or take gigabytes.
//
//     Result<Layout> layout = layout_in_worker(request, {.time = 5s, .stop = token});
#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas {

struct LayoutLimits {
    std::chrono::milliseconds time = std::chrono::seconds(30);  ///< wall clock; the worker is killed after it
    Bytes bytes{std::int64_t{2} << 30};                         ///< of the worker's address space
    std::stop_token stop = {};                                  ///< kills the worker at once
    std::filesystem::path worker = {};                          ///< empty: `find_layout_worker()`
};

/// Starts `rematlas-layout`, hands it the request and waits. Any thread may call it, several at once.
/// Errors, each one line: no worker program, stopped, out of time, out of memory, crashed, or what the worker
/// says of the request. Cost: 20 ms for the process, then 20 ms for 150 items, 0.5 s for 700 and
/// 10 s for 4,500 in 650 clusters.
Result<Layout> layout_in_worker(const LayoutRequest& request, const LayoutLimits& limits = {});

/// The worker program: $REMATLAS_LAYOUT_WORKER when set, else `rematlas-layout` beside the running program,
/// in `bin/` beside it or in `../bin/`. Empty when there is none (a build without Graphviz).
std::filesystem::path find_layout_worker();

}  // namespace rematlas
