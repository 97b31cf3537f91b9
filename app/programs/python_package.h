// Finds the Python package of Rematlas, which takes models as functions, in the form package.module:function.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// Says whether the word has the form package.module:function; cuda:1 has not.
bool names_python_function(std::string_view word);

/// Returns the interpreter where the package is installed: that of the wheel ($REMATLAS_PYTHON), else that of
/// the active environment ($VIRTUAL_ENV), else the first `python3` on the $PATH.
std::filesystem::path python_interpreter();

/// Returns the words of the command line that starts the package with that interpreter.
std::vector<std::string> python_package();

}  // namespace rematlas
