// Loads a model without its weights.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Parameters and buffers become contiguous shape tensors of the device; what the program itself holds
/// (constants of a traced model) keeps its values. The bytes of the weights are not read from the file, and
/// files saved with parameters on the meta device, which hold none, are as good. `sha256` stays empty.
/// Errors: one line that names the file. Cost: the size of the program's code.
Result<Model> load_shapes(const std::filesystem::path& path, c10::Device device);

}  // namespace rematlas
