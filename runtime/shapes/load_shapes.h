// Loads a model without its weights.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Parameters and buffers become contiguous shape tensors of the device. Tensors that the program itself
/// holds (constants of a traced model) keep their values. The bytes of the weights are not read from the
/// file, so that a file saved with parameters on the meta device, which holds none, serves as well.
/// `sha256` stays empty. Errors: one line that names the file. Cost: the size of the program's code.
Result<Model> load_shapes(const std::filesystem::path& path, c10::Device device);

}  // namespace rematlas
