#include "runtime/replay/step_transfers.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/allocator/step_memory.h"

namespace rematlas {
namespace {

/// Why the tensor cannot move; null when it can.
class Obstacles {
  public:
    explicit Obstacles(const BoundModel& model)
        : model_(model), on_host_(model.graph.tensors.size(), 0), updated_(on_host_) {
        for (const Operand& operand : model.tape.operands)
            if (operand.tensor.valid() && operand.on_host) on_host_[operand.tensor] = true;
        for (const BufferUpdate& update : model.tape.updates) updated_[update.buffer] = true;
    }

    const char* of_moving(TensorId t) const {
        if (on_host_[t] && !model_.device.device().is_cpu())
            return "moves between the device and the host, and lies in host memory anyway";
        return nullptr;
    }
    const char* of_living_there(TensorId t) const {
        if (!model_.device.device().is_cpu())
            return "lives on the host between steps: that is done for steps on the CPU only";
        if (!model_.resident[t]) return "is a result that ends on the host: results are left on the device";
        if (model_.graph.tensors[t].kind == TensorKind::input)
            return "lives on the host between steps: inputs are the caller's";
        if (updated_[t]) return "lives on the host between steps, and the step replaces its contents";
        return nullptr;
    }

  private:
    const BoundModel& model_;
    IdVector<TensorId, std::uint8_t> on_host_, updated_;
};

c10::DataPtr part_of(std::shared_ptr<PinnedSlab> slab, void* data, c10::Device device) {
    auto* owner = new std::shared_ptr<PinnedSlab>(std::move(slab));
    return {data, owner, [](void* context) { delete static_cast<std::shared_ptr<PinnedSlab>*>(context); },
            device};
}

}  // namespace

Result<void> check_movable(const BoundModel& model, const StepTransferPlan& plan) {
    const Obstacles obstacles(model);
    const auto refuse = [&](TensorId t, const char* why) {
        return Error{model.owner + ": the plan cannot run: " + model.graph.tensors[t].name + " " + why};
    };
    for (TensorId t : plan.homes.on_host)
        if (const char* why = obstacles.of_living_there(t)) return refuse(t, why);
    for (const Step& step : plan.transfers.steps) {
        if (step.names_op() || (step.kind == StepKind::free && !model.resident[step.tensor()])) continue;
        if (const char* why = obstacles.of_moving(step.tensor())) return refuse(step.tensor(), why);
    }
    return {};
}

StepTransfers::StepTransfers(const BoundModel& model, std::shared_ptr<const StepTransferPlan> plan,
                             StepLinks& links, std::shared_ptr<PinnedSlab> slab)
    : model_(model),
      plan_(std::move(plan)),
      links_(links),
      slab_(std::move(slab)),
      home_(model.graph.tensors.size(), -1),
      at_home_(model.graph.tensors.size()),
      place_(home_),
      bytes_(model.graph.tensors.size(), 0),
      moves_(model.graph.tensors.size(), 0),
      away_(moves_),
      player_(plan_->transfers, *links.copies, slab_->data(), links.forgotten) {
    const std::vector<HostPlace>& places = plan_->transfers.places;
    for (std::size_t i = 0; i < places.size() && places[i].taken < 0; ++i) {
        home_[places[i].tensor] = static_cast<std::int32_t>(i);
        bytes_away_at_start_ += places[i].bytes;
    }
    for (TensorId t : plan_->homes.stays) bytes_away_at_start_ -= model.graph.tensors[t].bytes.value;
    for (const Step& step : plan_->transfers.steps)
        if (step.kind == StepKind::free && is_callers(step.tensor())) moves_[step.tensor()] = true;
}

Result<std::unique_ptr<StepTransfers>> StepTransfers::open(const BoundModel& model,
                                                           std::shared_ptr<const StepTransferPlan> plan,
                                                           StepLinks& links) {
    if (!links.copies) {
        Result<std::unique_ptr<CopyLanes>> copies = open_copies(model.device);
        if (!copies) return copies.error();
        links.copies = copies.take();
    }
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(plan->transfers.slab_bytes, 1));
    Result<std::unique_ptr<PinnedSlab>> slab = open_slab(model.device, bytes);
    if (!slab) return slab.error();
    return std::unique_ptr<StepTransfers>(new StepTransfers(model, std::move(plan), links, slab.take()));
}

Result<void> StepTransfers::begin(OperandTable& operands, const std::vector<at::Tensor>& inputs,
                                  LinkClock* clock) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const TensorId t = model_.tape.operands[model_.tape.inputs[i].second].tensor;
        if (moves_[t] &&
            operands.storage(t).unsafeGetStorageImpl() != inputs[i].storage().unsafeGetStorageImpl())
            return Error{"input " + std::to_string(i) +
                         " is part of larger memory, which cannot leave the device as the plan asks"};
    }
    for (TensorId t : model_.graph.tensors.ids()) {
        if (moves_[t] && !model_.device.counts(operands.storage(t).data_ptr()))
            return Error{model_.owner + ": " + model_.graph.tensors[t].name +
                         " lies in memory of others, which cannot leave the device as the plan asks"};
        if (lives_on_host(t)) bring_home(t, operands);
    }
    for (TensorId t : plan_->homes.stays) {
        c10::Storage there = memory_for(t);
        std::memcpy(there.mutable_data(), at_home_[t].data(), bytes_[t]);
        operands.place(t, std::move(there));
    }
    std::fill(away_.begin(), away_.end(), 0);
    player_.begin(clock);
    return {};
}

/// The caller's storage is its place on the host from here on, for as long as somebody holds it.
void StepTransfers::bring_home(TensorId t, OperandTable& operands) {
    c10::Storage& storage = at_home_[t];
    storage = operands.storage(t);
    bytes_[t] = storage.nbytes();
    place_[t] = home_[t];
    void* place = player_.place(static_cast<std::size_t>(home_[t]));
    if (storage.data() != place) {
        std::memcpy(place, storage.data(), bytes_[t]);
        storage.set_data_ptr(part_of(slab_, place, storage.device()));
    }
    operands.clear(t);
}

/// What residents take is the caller's when the step is over, and no part of its arena.
c10::Storage StepTransfers::memory_for(TensorId t) const {
    std::optional<StepMemory::Scope> outside;
    if (model_.resident[t]) outside.emplace(nullptr);
    const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(model_.device.device());
    return at::empty({static_cast<std::int64_t>(bytes_[t])}, options).storage();
}

void StepTransfers::before(std::size_t at, OperandTable& operands) {
    const Step& step = plan_->transfers.steps[at];
    const bool copies = step.kind == StepKind::offload || step.kind == StepKind::fetch;
    if (!copies) return player_.give(at);
    const TensorId t = step.tensor();
    if (step.kind == StepKind::offload) {
        bytes_[t] = operands.storage(t).nbytes();
        place_[t] = plan_->transfers.place[at];
    } else if (is_callers(t)) {
        c10::Storage memory = memory_for(t), callers = operands.storage(t);
        callers.set_data_ptr(memory.set_data_ptr(c10::DataPtr(nullptr, memory.device())));
        away_[t] = false;
    } else {
        operands.place(t, memory_for(t));
    }
    player_.give(at, const_cast<void*>(operands.storage(t).data()), bytes_[t]);
}

void StepTransfers::free(TensorId t, OperandTable& operands) {
    c10::Storage storage = operands.storage(t);
    if (!is_callers(t)) {
        operands.clear(t);
        if (links_.forgotten && storage.use_count() == 1)
            links_.forgotten(storage.mutable_data(), storage.nbytes());
        return;
    }
    if (links_.forgotten) links_.forgotten(storage.mutable_data(), storage.nbytes());
    storage.set_data_ptr(c10::DataPtr(nullptr, storage.device()));
    away_[t] = true;
}

void StepTransfers::copy_in(TensorId t, const c10::Storage& to) {
    model_.device.synchronize();  // whoever had this memory before
    links_.copies->copy_in(const_cast<void*>(to.data()), player_.place(static_cast<std::size_t>(place_[t])),
                           bytes_[t]);
    links_.copies->synchronize(Lane::in);
}

void StepTransfers::restore(OperandTable& operands) {
    for (TensorId t : model_.graph.tensors.ids()) {
        if (away_[t]) {
            c10::Storage memory = memory_for(t), callers = operands.storage(t);
            copy_in(t, memory);
            callers.set_data_ptr(memory.set_data_ptr(c10::DataPtr(nullptr, memory.device())));
            away_[t] = false;
        }
        if (lives_on_host(t) && at_home_[t]) operands.place(t, at_home_[t]);
    }
}

}  // namespace rematlas
