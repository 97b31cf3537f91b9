// A TorchScript model in train mode, with its parameters and buffers by name.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "runtime/model/input_spec.h"
#include "runtime/model/named_tensor.h"

namespace rematlas {

struct Model {
    torch::jit::Module module;
    std::vector<NamedTensor> tensors;  ///< parameters, then buffers; a tensor that has two names occurs twice
    std::string file_name;             ///< without its folder
    std::string sha256;                ///< of the file
    std::vector<FixedInput> fixed = {};  ///< arguments that are no tensors

    /// Of the tensors, in order, with the fixed arguments between them.
    c10::IValue forward(const std::vector<at::Tensor>& inputs);

    /// The parameters that require gradients, each once.
    std::vector<NamedTensor> trained() const;
};

/// A module in train mode with its tensors named. Errors: one line that names `path`, where it was read.
Result<Model> model_from(torch::jit::Module module, const std::filesystem::path& path);

/// Reads onto the device in train mode. Errors: one line that names the file.
Result<Model> load_model(const std::filesystem::path& path, c10::Device device = c10::DeviceType::CPU);

/// The tensors of an output: a tensor, or tuples, lists and dictionaries of outputs, in order.
/// Errors: anything else that holds no tensor is skipped.
std::vector<at::Tensor> flatten_tensors(const c10::IValue& value);

/// What went wrong, as one line: libtorch's messages span pages, with the cause on the last one.
std::string one_line(const std::exception& error);

}  // namespace rematlas
