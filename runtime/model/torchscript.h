// TorchScript modules as models.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Parameters and buffers with all their names.
std::vector<NamedTensor> named_tensors(const torch::jit::Module& module);

/// A module in train mode with its tensors named. Errors: one line that names `path`, where it was read.
Result<Model> model_from(torch::jit::Module module, const std::filesystem::path& path);

}  // namespace rematlas
