// Files that hold a model: TorchScript (.pt) and exported programs (.pt2).
#pragma once

#include <caffe2/serialize/read_adapter_interface.h>

#include <filesystem>
#include <functional>

#include "core/base/result.h"
#include "runtime/model/exported/archive.h"
#include "runtime/model/model.h"

namespace rematlas {

/// Reads the model onto the device. A TorchScript module is put in train mode; an exported program stays as
/// it was exported. The contents of the file decide which kind of file it is. An error is one line that names
/// the file.
Result<Model> load_model(const std::filesystem::path& path, c10::Device device = c10::DeviceType::CPU);

/// Returns the inputs in `asked` that are tensors. If `asked` is empty, returns the inputs with which the
/// program was exported. Fails if `asked` is empty and the model does not know its inputs; the message begins
/// with `where` and names --input.
Result<std::vector<InputSpec>> input_tensors(const Model& model, std::vector<InputSpec> asked,
                                             const std::string& where);

/// One function for each kind of file, which makes the model from the file. Both functions may throw.
struct ModelReaders {
    std::function<Result<Model>(std::shared_ptr<caffe2::serialize::ReadAdapterInterface>)> torchscript;
    std::function<Model(const exported::Archive&)> exported;
};
/// Reads the model with the reader for its kind of file. An error is one line that names the file.
Result<Model> read_model(const std::filesystem::path& path,
                         const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& file,
                         const ModelReaders& readers);

}  // namespace rematlas
