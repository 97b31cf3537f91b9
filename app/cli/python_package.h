// The Python package of Rematlas, which takes models as functions: package.module:function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// package.module:function; cuda:1 is none.
bool names_python_function(std::string_view word);

/// The words of a command line that starts the package in the interpreter where it is installed: that of the
/// wheel, else the active environment's.
std::vector<std::string> python_package();

}  // namespace rematlas
