// Loads a model without its weights.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Parameters and buffers become shape tensors of the device. They are contiguous, except that dense tensors
/// keep their strides if the device is the host. The constants of a traced model keep their values; the
/// constants of an exported program keep them only if the device is the host. The bytes of the weights are
/// not read, so a file that was saved with parameters on the meta device, and has no such bytes, can be
/// loaded too. `sha256` stays empty. An error is one line that names the file. Cost: proportional to the size
/// of the program's code.
Result<Model> load_shapes(const std::filesystem::path& path, c10::Device device);

}  // namespace rematlas
