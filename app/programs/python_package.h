// Finds the Python interpreter that has the package of Rematlas, and the command that starts the package. The
// command line of the package names a model by a Python function: package.module:function.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// Says whether the word has the form package.module:function. A device, such as cuda:1, does not have this
/// form.
bool names_python_function(std::string_view word);

/// Returns the Python interpreter that runs the package: the interpreter that the wheel names
/// ($REMATLAS_PYTHON), else the interpreter of the active environment ($VIRTUAL_ENV), else the first
/// `python3` on the $PATH.
std::filesystem::path python_interpreter();

/// Returns the words of the command line that runs the package with `python_interpreter`.
std::vector<std::string> python_package();

}  // namespace rematlas
