// The graph that comes with the program, for people who do not have one yet.
#pragma once

#include <QString>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes the sample into the subfolder `samples` of `folder`, where plans can be kept next to it, unless the
/// sample exists already. Returns its path. Fails if the sample cannot be written.
Result<QString> sample_graph_in(const QString& folder);

}  // namespace rematlas::explorer
