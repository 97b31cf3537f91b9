// The Python package of Rematlas, which takes models as functions: package.module:function.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// package.module:function; cuda:1 is none.
bool names_python_function(std::string_view word);

/// The interpreter where the package is installed: that of the wheel ($REMATLAS_PYTHON), else that of the
/// active environment ($VIRTUAL_ENV), else the first `python3` on the $PATH.
std::filesystem::path python_interpreter();

/// The words of a command line that starts the package in that interpreter.
std::vector<std::string> python_package();

}  // namespace rematlas
