#include "runtime/shapes/load_shapes.h"

#include <caffe2/serialize/file_adapter.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/model/torchscript.h"
#include "runtime/shapes/shape_tensor.h"

namespace rematlas {
namespace {

struct Range {
    std::uint64_t begin, end;
};

/// Where the file keeps the bytes of parameters and buffers.
std::vector<Range> weights_in(const std::string& path) {
    caffe2::serialize::PyTorchStreamReader reader(path);
    std::vector<Range> ranges;
    for (const std::string& record : reader.getAllRecords()) {
        if (!record.starts_with("data/")) continue;
        const std::uint64_t begin = reader.getRecordOffset(record);
        ranges.push_back({begin, begin + reader.getRecordSize(record)});
    }
    std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
    return ranges;
}

/// Leaves the weights unread: their memory is asked for and given back untouched.
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

/// On the host the tensors stay as they are, views of one storage included; another device gets one storage
/// for each tensor, as `load_model` gives it.
void forget_weights(Model& model, c10::Device device) {
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const NamedTensor& named : model.tensors) {
        if (!seen.insert(named.tensor.unsafeGetTensorImpl()).second) continue;
        const bool complete = named.tensor.device() == device && named.tensor.is_non_overlapping_and_dense();
        if (complete) {
            drop_data(named.tensor.storage());
        } else {
            become_shape(named.tensor, device);
        }
    }
}

}  // namespace

Result<Model> load_shapes(const std::filesystem::path& path, c10::Device device) {
    if (!std::filesystem::is_regular_file(path)) return Error{path.string() + ": no such file"};
    try {
        auto reader = std::make_shared<ProgramReader>(path.string());
        Result<Model> model =
            model_from(torch::jit::load(std::move(reader), c10::Device(c10::DeviceType::CPU)), path);
        if (model) forget_weights(*model, device);
        return model;
    } catch (const std::exception& error) {
        return Error{path.string() + ": not a TorchScript file: " + one_line(error)};
    }
}

}  // namespace rematlas
