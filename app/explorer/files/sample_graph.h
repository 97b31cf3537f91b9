// The sample graph that comes with the program, for users who have no graph yet.
#pragma once

#include <QString>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes the sample graph into the subfolder `samples` of `folder`, where plans can be kept next to it.
/// Keeps an existing sample. Returns the path of the sample. Fails if it cannot be written.
Result<QString> sample_graph_in(const QString& folder);

}  // namespace rematlas::explorer
