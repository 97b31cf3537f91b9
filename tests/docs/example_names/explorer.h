// Names that the examples at the top of the explorer's headers use without defining them (in addition to
// core.h).
#pragma once

#include <QAbstractItemView>
#include <QElapsedTimer>
#include <QLabel>
#include <QWheelEvent>

#include "core/costs/link_profile.h"
#include "viz/layout/layout.h"

namespace rematlas::example_names {

template <class Shown>
void show(const Shown& shown);

}  // namespace rematlas::example_names
