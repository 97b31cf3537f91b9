#include "app/programs/python_package.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace rematlas {

bool names_python_function(std::string_view word) {
    const std::size_t colon = word.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == word.size()) return false;
    if (std::isdigit(static_cast<unsigned char>(word[colon + 1]))) return false;
    const auto is_of_names = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(colon),
                       [&](char c) { return is_of_names(c) || c == '.'; }) &&
           std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), is_of_names);
}

std::filesystem::path python_interpreter() {
    if (const char* of_wheel = std::getenv("REMATLAS_PYTHON"); of_wheel && *of_wheel) return of_wheel;
    if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active) {
        const std::filesystem::path python = std::filesystem::path(active) / "bin" / "python3";
        if (::access(python.c_str(), X_OK) == 0) return python;
    }
    return "python3";
}

std::vector<std::string> python_package() {
    return {python_interpreter().string(), "-m", "rematlas"};
}

}  // namespace rematlas
