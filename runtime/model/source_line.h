// Lines of source files, as places of ops are told.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Says whether the file is torch's own: a model's line is wanted in its place.
inline bool is_of_torch(std::string_view file) {
    return file.find("/torch/") != file.npos;
}

/// Returns "model.py:12", and "torch/nn/modules/conv.py:560" for a line of torch, which must not be taken for
/// one of the model.
inline std::string line_text(std::string_view file, std::string_view line) {
    const std::size_t begin = is_of_torch(file) ? file.rfind("/torch/") : file.find_last_of('/');
    return std::string(file.substr(begin + 1)).append(":").append(line);
}

}  // namespace rematlas
