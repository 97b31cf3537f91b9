// Lines of source files, as places of ops are told.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Says whether the file is torch's own: a model's line is wanted in its place.
inline bool is_of_torch(std::string_view file) {
    return file.find("/torch/") != file.npos;
}

/// Returns "model.py:12".
inline std::string line_text(std::string_view file, std::string_view line) {
    return std::string(file.substr(file.find_last_of('/') + 1)).append(":").append(line);
}

}  // namespace rematlas
