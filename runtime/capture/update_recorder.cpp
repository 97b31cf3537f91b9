#include "runtime/capture/update_recorder.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "runtime/dispatch/stack_tensors.h"
#include "runtime/model/input_spec.h"
#include "runtime/shapes/shape_tensor.h"

namespace rematlas {
namespace {

/// Returns the bytes that a kernel moves for a tensor. Elements of expanded axes count once.
double bytes_moved(const at::Tensor& tensor) {
    double bytes = static_cast<double>(tensor.element_size());
    for (std::int64_t axis = 0; axis < tensor.dim(); ++axis)
        if (tensor.stride(axis) != 0) bytes *= static_cast<double>(tensor.size(axis));
    return std::min(bytes, static_cast<double>(tensor.storage().nbytes()));
}

/// Returns the number 1 in this type. A program that asks for the value of a tensor gets this number, because
/// no kernel runs that would compute the value.
c10::IValue one_of_type(c10::ScalarType type) {
    if (type == c10::ScalarType::Bool) return c10::IValue(true);
    if (c10::isIntegralType(type, false)) return c10::IValue(std::int64_t{1});
    return c10::IValue(1.0);
}

/// Disjoint sets of numbers (union-find).
class Groups {
  public:
    explicit Groups(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), 0); }
    int of(int member) {
        while (above_[static_cast<std::size_t>(member)] != member)
            member = above_[static_cast<std::size_t>(member)] =
                above_[static_cast<std::size_t>(above_[static_cast<std::size_t>(member)])];
        return member;
    }
    void join(int a, int b) {
        const int first = of(a), second = of(b);
        above_[static_cast<std::size_t>(std::max(first, second))] = std::min(first, second);
    }

  private:
    std::vector<int> above_;
};

}  // namespace

UpdateRecorder::UpdateRecorder(std::vector<UpdateTensor> tensors, DeviceRuntime& device)
    : device_(device), shapes_(device.device(), device.profile_if_absent() != nullptr) {
    for (UpdateTensor& given : tensors) {
        if (!lies_on_device(given.tensor)) continue;
        const int place = static_cast<int>(update_.tensors.size());
        Memory& memory = memories_[static_cast<std::size_t>(memory_of(given.tensor, false))];
        if (memory.given >= 0) continue;
        memory.given = place;
        update_.tensors.push_back(std::move(given));
    }
}

bool UpdateRecorder::lies_on_device(const at::Tensor& tensor) const {
    return tensor.defined() && tensor.has_storage() && tensor.device() == device_.device() &&
           !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

int UpdateRecorder::memory_of(const at::Tensor& tensor, bool made) {
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    const auto found = places_.find(storage);
    if (found != places_.end() && !memories_[static_cast<std::size_t>(found->second)].storage.expired())
        return found->second;
    const int place = static_cast<int>(memories_.size());
    Memory memory{.storage = c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()),
                  .bytes = device_.footprint(static_cast<std::int64_t>(storage->nbytes())),
                  .made = made};
    if (!made) memory.example = tensor_on(meta_storage(storage->nbytes()), tensor);
    if (made) {
        temporaries_ += memory.bytes;
        living_.push_back(place);
    }
    memories_.push_back(std::move(memory));
    places_.insert_or_assign(storage, place);
    return place;
}

/// Corrects the counted bytes of the temporaries, because some ops resize the tensors that they write to.
void UpdateRecorder::settle_sizes() {
    for (const int place : living_) {
        Memory& memory = memories_[static_cast<std::size_t>(place)];
        const auto storage = memory.storage.lock();
        if (!storage) continue;
        const std::int64_t now = device_.footprint(static_cast<std::int64_t>(storage->nbytes()));
        temporaries_ += now - memory.bytes;
        memory.bytes = now;
    }
}

void UpdateRecorder::drop_dead() {
    std::erase_if(living_, [&](int place) {
        const Memory& memory = memories_[static_cast<std::size_t>(place)];
        if (!memory.storage.expired()) return false;
        temporaries_ -= memory.bytes;
        return true;
    });
}

void UpdateRecorder::touch(const at::Tensor& tensor, bool written, Recorded& record) {
    const int place = memory_of(tensor, false);
    record.touches.push_back({place, written});
    Memory& memory = memories_[static_cast<std::size_t>(place)];
    memory.written = memory.written || written;
}

void UpdateRecorder::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const auto why_not = shapes_.run(op, keys, stack);
    if (!why_not) return;
    const auto& schema = op.schema();
    const std::size_t count = schema.arguments().size();
    if (schema.name() == "aten::_local_scalar_dense") {
        const c10::ScalarType type = stack->back().toTensor().scalar_type();
        torch::jit::drop(*stack, count);
        stack->push_back(one_of_type(type));
        update_.reads_values = true;
        return;
    }
    TORCH_CHECK(schema.returns().empty(), schema.name(), " in the optimizer's step: ", *why_not);
    torch::jit::drop(*stack, count);
    if (schema.name().starts_with("aten::_fused_")) return;  // fused ops write in place and hold no memory
    auto& unknown = update_.unknown_kernels;
    if (std::find(unknown.begin(), unknown.end(), schema.name()) == unknown.end())
        unknown.push_back(schema.name());
}

void UpdateRecorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    drop_dead();
    const auto& schema = op.schema();
    const std::size_t base = stack->size() - schema.arguments().size();
    Recorded record{.touches = {}, .cost = {.name = schema.name(), .gradients = 0}, .temporaries = 0};
    double item = 4;
    bool writes = false;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        const auto* alias = schema.arguments()[i].alias_info();
        const bool written = alias && alias->isWrite();
        for_each_tensor((*stack)[base + i], [&](const at::Tensor& tensor) {
            if (!lies_on_device(tensor)) return;
            touch(tensor, written, record);
            if (record.cost.arguments.empty()) item = static_cast<double>(tensor.element_size());
            record.cost.arguments.push_back(
                {tensor.sizes().vec(), std::string(dtype_name(tensor.scalar_type()))});
            record.cost.bytes_read += bytes_moved(tensor);
            if (written) record.cost.bytes_written += bytes_moved(tensor);
            writes = writes || written;
        });
    }
    run(op, keys, stack);
    bool makes = false;
    for (std::size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i) {
        for_each_tensor((*stack)[i], [&](const at::Tensor& tensor) {
            if (!lies_on_device(tensor)) return;
            const std::size_t known = memories_.size();
            const int place = memory_of(tensor, true);
            if (memories_.size() == known) return;
            record.touches.push_back({place, true});
            record.cost.bytes_written += static_cast<double>(tensor.storage().nbytes());
            makes = true;
        });
    }
    if (!writes && !makes) return;  // the op makes a view, or only asks for metadata
    settle_sizes();
    record.cost.elements_written = record.cost.bytes_written / item;
    record.temporaries = temporaries_;
    ops_.push_back(std::move(record));
}

void UpdateRecorder::is_traced(const c10::OperatorHandle& op) {
    TORCH_CHECK(false, op.schema().name(),
                " runs on fake tensors in the optimizer's step, as torch.compile does while it traces");
}

/// Says whether the part touches only single numbers. Such a part just counts steps.
bool UpdateRecorder::only_counts(const UpdatePart& part) const {
    const auto is_number = [&](int place) {
        const UpdateTensor& tensor = update_.tensors[static_cast<std::size_t>(place)];
        return tensor.kind == UpdateTensor::Kind::state && tensor.tensor.numel() == 1;
    };
    return std::all_of(part.reads.begin(), part.reads.end(), is_number) &&
           std::all_of(part.writes.begin(), part.writes.end(), is_number);
}

/// Says whether the optimizer keeps the tensor from step to step: the constructor got it, or it is still held
/// and no op of the step has made it.
bool UpdateRecorder::is_kept(const Memory& memory) const {
    return memory.given >= 0 || (!memory.made && !memory.storage.expired());
}

RecordedUpdate UpdateRecorder::finish() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
        Memory& memory = memories_[i];
        if (memory.given >= 0 || !is_kept(memory)) continue;
        memory.given = static_cast<int>(update_.tensors.size());
        update_.tensors.push_back({.name = "kept" + std::to_string(i), .tensor = memory.example});
    }
    Groups groups(ops_.size());
    std::vector<int> first(memories_.size(), -1);
    for (std::size_t op = 0; op < ops_.size(); ++op) {
        for (const Touch& touched : ops_[op].touches) {
            const Memory& memory = memories_[static_cast<std::size_t>(touched.memory)];
            if (is_kept(memory) && !memory.written) continue;
            int& one = first[static_cast<std::size_t>(touched.memory)];
            if (one < 0) one = static_cast<int>(op);
            groups.join(one, static_cast<int>(op));
        }
    }
    std::map<int, std::size_t> part_of;
    std::vector<std::pair<std::set<int>, std::set<int>>>
        touched;  // per part: the tensors that it reads, and the tensors that it writes to
    for (std::size_t op = 0; op < ops_.size(); ++op) {
        const auto [found, fresh] =
            part_of.try_emplace(groups.of(static_cast<int>(op)), update_.parts.size());
        if (fresh) update_.parts.emplace_back(), touched.emplace_back();
        UpdatePart& part = update_.parts[found->second];
        for (const Touch& touch : ops_[op].touches) {
            const Memory& memory = memories_[static_cast<std::size_t>(touch.memory)];
            if (memory.given < 0) continue;
            auto& [reads, writes] = touched[found->second];
            (touch.written ? writes : reads).insert(memory.given);
        }
        part.temporaries = std::max(part.temporaries, ops_[op].temporaries);
        part.calls.push_back(std::move(ops_[op].cost));
    }
    for (std::size_t part = 0; part < touched.size(); ++part) {
        update_.parts[part].reads.assign(touched[part].first.begin(), touched[part].first.end());
        update_.parts[part].writes.assign(touched[part].second.begin(), touched[part].second.end());
    }
    std::erase_if(update_.parts, [&](const UpdatePart& part) { return only_counts(part); });
    return std::move(update_);
}

}  // namespace rematlas
