// TorchScript modules as models.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Parameters and buffers, under all their names.
std::vector<NamedTensor> named_tensors(const torch::jit::Module& module);

/// Makes a model of a module, in train mode and with its tensors named. Errors: one line that names `path`,
/// from which the module was read.
Result<Model> model_from(torch::jit::Module module, const std::filesystem::path& path);

}  // namespace rematlas
