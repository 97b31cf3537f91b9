// TorchScript modules as models.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Returns the parameters and buffers; a tensor with several names occurs once for each name.
std::vector<NamedTensor> named_tensors(const torch::jit::Module& module);

/// Makes a model of a module, in train mode, with the names of its tensors. An error is one line that names
/// `path`, the file of the module.
Result<Model> model_from(torch::jit::Module module, const std::filesystem::path& path);

}  // namespace rematlas
