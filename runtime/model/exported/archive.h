// A torch.export archive (.pt2): a zip file with a program as JSON and its tensors as bytes.
#pragma once

#include <ATen/core/Tensor.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace rematlas::exported {

/// Whether the file is such an archive, judged by its contents. False for a file that cannot be read.
bool is_archive(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file);

/// A tensor of the archive by its name in the program.
struct StoredTensor {
    at::Tensor tensor;
    bool is_parameter = false;
};
using StoredTensors = std::unordered_map<std::string, StoredTensor>;

/// All functions throw c10::Error, or an exception of nlohmann::json, if the archive is damaged.
class Archive {
  public:
    explicit Archive(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file);
    ~Archive();

    /// The only exported program in the archive.
    nlohmann::json program() const;

    /// Parameters and persistent buffers, on the host. Names of one tensor share the tensor, and names of
    /// one storage share the storage. Without `with_values` no weight is read and the memory of the tensors
    /// stays untouched.
    StoredTensors weights(bool with_values) const;
    /// Other tensors that the program reads: buffers that are not persistent, tensors written in its code.
    StoredTensors constants() const;

  private:
    std::string text(const std::string& record) const;
    nlohmann::json json(const std::string& record) const;
    StoredTensors tensors(const std::string& config, const std::string& folder, bool with_values) const;

    std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
    std::string model_;
};

}  // namespace rematlas::exported
