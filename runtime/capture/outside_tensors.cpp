#include "runtime/capture/outside_tensors.h"

#include <algorithm>

namespace rematlas {

void OutsideTensors::add(const at::Tensor& tensor) {
    if (tensor.is_inference()) return;  // such a tensor counts no writes
    const c10::VariableVersion& version = tensor.unsafeGetTensorImpl()->version_counter();
    tensors_.push_back({c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()),
                        tensor.storage().unsafeGetStorageImpl(), version, version.current_version()});
}

OutsideTensors OutsideTensors::of_both(const OutsideTensors& first, const OutsideTensors& second) {
    OutsideTensors both;
    for (const Outside& tensor : second.tensors_) {
        const bool was_read =
            std::any_of(first.tensors_.begin(), first.tensors_.end(), [&](const Outside& before) {
                return before.identity == tensor.identity && !before.storage.expired();
            });
        if (was_read && !tensor.storage.expired()) both.tensors_.push_back(tensor);
    }
    return both;
}

bool OutsideTensors::have_changed() const {
    return std::any_of(tensors_.begin(), tensors_.end(), [](const Outside& tensor) {
        return tensor.storage.expired() || tensor.version.current_version() != tensor.seen;
    });
}

}  // namespace rematlas
