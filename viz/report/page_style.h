// The style of a report: the colours of the palette on light and on dark paper, followed by
// resources/report/report.css.
#pragma once

#include <string>

#include "viz/report/page_use.h"

namespace rematlas {

std::string page_style(PageUse use);

}  // namespace rematlas
