// The style and the script of reports, as they stand in resources/report.
#pragma once

#include <string_view>

namespace rematlas {

std::string_view report_style();
std::string_view report_script();  ///< all files of the script in one function of its own

}  // namespace rematlas
