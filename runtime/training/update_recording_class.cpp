// torch.classes.rematlas.UpdateRecording: records an optimizer's step from shapes.
#include <nlohmann/json.hpp>

#include "runtime/training/bindings.h"

namespace rematlas {
namespace {

UpdateTensor::Kind kind_of(const std::string& name) {
    if (name == "parameter") return UpdateTensor::Kind::parameter;
    if (name == "gradient") return UpdateTensor::Kind::gradient;
    TORCH_CHECK(name == "state", "rematlas: a tensor of an update is a ", name,
                "; expected parameter, gradient or state");
    return UpdateTensor::Kind::state;
}

}  // namespace

TorchUpdateRecording::TorchUpdateRecording(const std::vector<std::string>& kinds,
                                           const std::vector<std::string>& names,
                                           const std::vector<at::Tensor>& tensors,
                                           const std::string& device_name)
    : device_(open_device_named(device_name)) {
    TORCH_CHECK(kinds.size() == tensors.size() && names.size() == tensors.size(), "rematlas: ", kinds.size(),
                " kinds and ", names.size(), " names for ", tensors.size(), " tensors");
    std::vector<UpdateTensor> given;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        given.push_back({.kind = kind_of(kinds[i]), .name = names[i], .tensor = tensors[i]});
    recorder_.emplace(std::move(given), *device_);
}

void TorchUpdateRecording::begin() {
    TORCH_CHECK(recorder_ && !guard_, "rematlas: the update is recorded already");
    guard_ = DispatchModeGuard::unseen_by_outer(*recorder_);
    TORCH_CHECK(guard_, "rematlas: another step is recorded at the same time");
}

void TorchUpdateRecording::end() {
    guard_ = nullptr;
    if (recorder_) update_ = recorder_->finish();
    recorder_.reset();
}

const RecordedUpdate& TorchUpdateRecording::update() const {
    TORCH_CHECK(update_, "rematlas: the update has not ended");
    return *update_;
}

std::string TorchUpdateRecording::facts() const {
    std::size_t calls = 0;
    std::int64_t most = 0, states = 0;
    for (const UpdatePart& part : update().parts) {
        calls += part.calls.size();
        most = std::max(most, part.temporaries);
    }
    for (const UpdateTensor& tensor : update().tensors)
        if (tensor.kind == UpdateTensor::Kind::state)
            states += device_->footprint(static_cast<std::int64_t>(tensor.tensor.storage().nbytes()));
    return nlohmann::json{{"calls", calls},
                          {"parts", update().parts.size()},
                          {"temporary_bytes", most},
                          {"state_bytes", states},
                          {"reads_values", update().reads_values},
                          {"unknown_kernels", update().unknown_kernels}}
        .dump();
}

void define_update_recording(torch::Library& library) {
    using Recording = c10::intrusive_ptr<TorchUpdateRecording>;
    library.class_<TorchUpdateRecording>("UpdateRecording")
        .def(torch::init<const std::vector<std::string>&, const std::vector<std::string>&,
                         const std::vector<at::Tensor>&, const std::string&>())
        .def("begin", [](const Recording& self) { self->begin(); })
        .def("end", [](const Recording& self) { self->end(); })
        .def("facts", [](const Recording& self) { return self->facts(); });
}

}  // namespace rematlas
