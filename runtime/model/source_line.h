// The text of a line in a source file, for the places of ops.
#pragma once

#include <string>
#include <string_view>

namespace rematlas {

/// Says whether the file belongs to torch. A line of the model is preferred to a line of torch.
inline bool is_of_torch(std::string_view file) {
    return file.find("/torch/") != file.npos;
}

/// Returns e.g. "model.py:12". For a line of torch returns e.g. "torch/nn/modules/conv.py:560", so that
/// nobody takes it for a line of the model.
inline std::string line_text(std::string_view file, std::string_view line) {
    const std::size_t begin = is_of_torch(file) ? file.rfind("/torch/") : file.find_last_of('/');
    return std::string(file.substr(begin + 1)).append(":").append(line);
}

}  // namespace rematlas
