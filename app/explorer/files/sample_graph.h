// The graph that comes with the program, for people who have none yet.
#pragma once

#include <QString>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes the sample below the folder, where plans can be kept beside it, unless the sample lies there
/// already. Returns its path. Errors: what cannot be written.
Result<QString> sample_graph_in(const QString& folder);

}  // namespace rematlas::explorer
