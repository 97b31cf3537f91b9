// Says how well a few typed letters match a longer name.
#pragma once

#include <QString>

namespace rematlas::explorer {

/// Returns a score; higher is better. Returns 0 if the letters of a typed word do not occur in the name in
/// the same order. Case does not count. Letters that begin a word or follow each other count more.
int fuzzy_score(const QString& typed, const QString& name);

}  // namespace rematlas::explorer
