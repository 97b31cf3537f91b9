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

/// Says whether the file is a torch.export archive, judged by its contents. Returns false if the file cannot
/// be read.
bool is_archive(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file);

/// A tensor of the archive. In `StoredTensors`, the key is the tensor's name in the program.
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

    /// Returns the only exported program in the archive, as JSON.
    nlohmann::json program() const;

    /// Returns the parameters and persistent buffers, on the host. Several names of one tensor share the
    /// tensor, and several tensors on one storage share the storage. If `with_values` is false, no weights
    /// are read and the tensors' memory is not touched.
    StoredTensors weights(bool with_values) const;
    /// Returns the other tensors that the program reads: buffers that are not persistent, and tensors written
    /// in the program's code.
    StoredTensors constants() const;

  private:
    std::string text(const std::string& record) const;
    nlohmann::json json(const std::string& record) const;
    StoredTensors tensors(const std::string& config, const std::string& folder, bool with_values) const;

    std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
    std::string model_;
};

}  // namespace rematlas::exported
