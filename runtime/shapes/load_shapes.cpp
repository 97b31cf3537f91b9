#include "runtime/shapes/load_shapes.h"

#include <caffe2/serialize/file_adapter.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/model/exported/exported_program.h"
#include "runtime/model/load_model.h"
#include "runtime/model/torchscript.h"
#include "runtime/shapes/shape_tensor.h"

namespace rematlas {
namespace {

struct Range {
    std::uint64_t begin, end;
};

/// Returns the ranges of the file that hold the bytes of parameters and buffers.
std::vector<Range> weights_in(const std::string& path) {
    caffe2::serialize::PyTorchStreamReader reader(path);
    std::vector<Range> ranges;
    for (const std::string& record : reader.getAllRecords()) {
        // In a TorchScript file, the weights are the files directly in the folder data/. The weights of an
        // exported program are never requested.
        if (!record.starts_with("data/") || record.find('/', 5) != record.npos) continue;
        const std::uint64_t begin = reader.getRecordOffset(record);
        ranges.push_back({begin, begin + reader.getRecordSize(record)});
    }
    std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
    return ranges;
}

/// Reads a file without its weights: memory for the weights is allocated and freed, but not touched.
class ProgramReader final : public caffe2::serialize::ReadAdapterInterface {
  public:
    explicit ProgramReader(const std::string& path) : file_(path), weights_(weights_in(path)) {}
    std::size_t size() const override { return file_.size(); }
    std::size_t read(std::uint64_t at, void* buffer, std::size_t bytes, const char* what) const override {
        auto after = std::upper_bound(weights_.begin(), weights_.end(), at,
                                      [](std::uint64_t a, Range range) { return a < range.begin; });
        const bool weight = after != weights_.begin() && at + bytes <= (--after)->end;
        return weight ? bytes : file_.read(at, buffer, bytes, what);
    }

  private:
    caffe2::serialize::FileAdapter file_;
    std::vector<Range> weights_;
};

/// Drops the values of a tensor. If the device is the host, a dense tensor keeps its strides and its storage,
/// which it may share. Any other tensor becomes contiguous and gets its own storage, as in `load_model`.
void forget_values(const at::Tensor& tensor, c10::Device device) {
    if (tensor.device() == device && tensor.is_non_overlapping_and_dense()) {
        drop_data(tensor.storage());
    } else {
        become_shape(tensor, device);
    }
}

class ForgottenOnce {
  public:
    explicit ForgottenOnce(c10::Device device) : device_(device) {}
    void operator()(const at::Tensor& tensor) {
        if (seen_.insert(tensor.unsafeGetTensorImpl()).second) forget_values(tensor, device_);
    }

  private:
    c10::Device device_;
    std::unordered_set<const c10::TensorImpl*> seen_;
};

Model exported_shapes(const exported::Archive& archive, c10::Device device) {
    exported::StoredTensors weights = archive.weights(/*with_values=*/false), constants = archive.constants();
    ForgottenOnce forget(device);
    for (const auto& [name, stored] : weights) forget(stored.tensor);
    // Constants of the program keep their values only on the host.
    if (!device.is_cpu())
        for (const auto& [name, stored] : constants) forget(stored.tensor);
    return exported::model_of(archive, std::move(weights), std::move(constants), device);
}

Result<Model> torchscript_shapes(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file,
                                 const std::filesystem::path& path, c10::Device device) {
    Result<Model> model =
        model_from(torch::jit::load(std::move(file), c10::Device(c10::DeviceType::CPU)), path);
    if (!model) return model;
    ForgottenOnce forget(device);
    for (const NamedTensor& named : model->tensors) forget(named.tensor);
    return model;
}

}  // namespace

Result<Model> load_shapes(const std::filesystem::path& path, c10::Device device) {
    if (!std::filesystem::is_regular_file(path)) return Error{path.string() + ": no such file"};
    try {
        return read_model(
            path, std::make_shared<ProgramReader>(path.string()),
            {.torchscript = [&](auto file) { return torchscript_shapes(file, path, device); },
             .exported = [&](const auto& archive) { return exported_shapes(archive, device); }});
    } catch (const std::exception& error) {
        return Error{path.string() + ": not a model file: " + one_line(error)};
    }
}

}  // namespace rematlas
