// The style and the script of reports, from the files in resources/report. A page that is served has
// additional style and script.
#pragma once

#include <string>

#include "viz/report/page_use.h"

namespace rematlas {

std::string report_style(PageUse use);
std::string report_script(PageUse use);  ///< all files of the script, in one function

}  // namespace rematlas
