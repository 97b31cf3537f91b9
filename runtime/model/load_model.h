// Files that hold a model: TorchScript (.pt) and exported programs (.pt2).
#pragma once

#include <caffe2/serialize/read_adapter_interface.h>

#include <filesystem>
#include <functional>

#include "core/base/result.h"
#include "runtime/model/exported/archive.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Reads the model onto the device in train mode. The file itself tells of which kind it is. Errors: one
/// line that names the file.
Result<Model> load_model(const std::filesystem::path& path, c10::Device device = c10::DeviceType::CPU);

/// The tensors among the inputs `asked`, or those that the program was exported with if `asked` is empty.
/// Errors: a model that knows no inputs of its own, in a line that begins with `where` and names --input.
Result<std::vector<InputSpec>> input_tensors(const Model& model, std::vector<InputSpec> asked,
                                             const std::string& where);

/// For each kind of file, a function that makes the model from it. Both may throw.
struct ModelReaders {
    std::function<Result<Model>(std::shared_ptr<caffe2::serialize::ReadAdapterInterface>)> torchscript;
    std::function<Model(const exported::Archive&)> exported;
};
/// Reads the model by the reader of its kind. Errors: as `load_model`.
Result<Model> read_model(const std::filesystem::path& path,
                         const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& file,
                         const ModelReaders& readers);

}  // namespace rematlas
