// How well a few letters that were typed name something longer.
#pragma once

#include <QString>

namespace rematlas::explorer {

/// Higher is better, 0: the letters are not in it in their order. Case does not count. Letters that begin a
/// word or follow each other count more; every word that was typed must be found.
int fuzzy_score(const QString& typed, const QString& name);

}  // namespace rematlas::explorer
