#include "runtime/replay/step_transfers.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/schedule/homes.h"
#include "runtime/allocator/step_memory.h"

namespace rematlas {
namespace {

/// Finds the tensors that are in host memory although the step runs on a GPU, such as a learning rate. These
/// tensors stay in host memory; graphs count them as if they were on the device.
IdVector<TensorId, std::uint8_t> in_host_memory(const BoundModel& model) {
    IdVector<TensorId, std::uint8_t> found(model.graph.tensors.size(), 0);
    for (const Operand& operand : model.tape.operands)
        if (operand.tensor.valid() && !model.device.device().is_cpu())
            found[operand.tensor] |= operand.on_host;
    return found;
}

/// `of_moving` says why a tensor cannot move. `of_living_there` says why the tensor cannot be on the host
/// between training steps, or at the end of one. Each returns null if there is no such reason.
class Obstacles {
  public:
    explicit Obstacles(const BoundModel& model)
        : model_(model),
          in_host_memory_(in_host_memory(model)),
          updated_(model.graph.tensors.size(), 0),
          becomes_a_buffer_(updated_) {
        for (const BufferUpdate& update : model.tape.updates)
            updated_[update.buffer] = becomes_a_buffer_[update.contents] = true;
    }

    const char* of_moving(TensorId t) const {
        if (in_host_memory_[t] && !model_.resident[t])
            return "moves between the device and the host, and is made in host memory";
        if (model_.graph.tensors[t].name == library_workspace_name)
            return "moves between the device and the host, and is held by the device's libraries";
        return nullptr;
    }
    const char* of_living_there(TensorId t) const {
        if (becomes_a_buffer_[t]) return "ends on the host, and is what a buffer becomes";
        if (!model_.resident[t]) return nullptr;
        if (model_.graph.tensors[t].kind == TensorKind::input)
            return "lives on the host between steps: inputs are the caller's";
        if (updated_[t]) return "lives on the host between steps, and the step replaces its contents";
        return nullptr;
    }

  private:
    const BoundModel& model_;
    IdVector<TensorId, std::uint8_t> in_host_memory_, updated_, becomes_a_buffer_;
};

}  // namespace

Result<void> check_movable(const BoundModel& model, const StepTransferPlan& plan) {
    const Obstacles obstacles(model);
    const auto refuse = [&](TensorId t, const char* why) {
        return Error{model.owner + ": the plan cannot run: " + model.graph.tensors[t].name + " " + why};
    };
    for (TensorId t : plan.homes.on_host) {
        if (const char* why = obstacles.of_living_there(t)) return refuse(t, why);
        if (const char* why = obstacles.of_moving(t)) return refuse(t, why);
    }
    for (const Step& step : plan.transfers.steps) {
        if (step.names_op() || (step.kind == StepKind::free && !model.resident[step.tensor()])) continue;
        if (const char* why = obstacles.of_moving(step.tensor())) return refuse(step.tensor(), why);
    }
    return check_host_ops(model, plan.transfers);
}

StepTransfers::StepTransfers(const BoundModel& model, std::shared_ptr<const StepTransferPlan> plan,
                             StepLinks& links, std::shared_ptr<PinnedSlab> slab)
    : model_(model),
      plan_(std::move(plan)),
      links_(links),
      slab_(std::move(slab)),
      in_host_memory_(in_host_memory(model)),
      home_(model.graph.tensors.size(), -1),
      at_home_(model.graph.tensors.size()),
      place_(home_),
      bytes_(model.graph.tensors.size(), 0),
      counted_(model.graph.tensors.size()),
      moves_(model.graph.tensors.size(), 0),
      away_(moves_),
      host_op_runner_(model, plan_->transfers, player_),
      player_(plan_->transfers, *links.copies, slab_->data(), links.forgotten) {
    const std::vector<HostPlace>& places = plan_->transfers.places;
    for (std::size_t i = 0; i < places.size() && places[i].taken < 0; ++i) {
        home_[places[i].tensor] = static_cast<std::int32_t>(i);
        bytes_away_at_start_ += places[i].bytes;
    }
    for (TensorId t : plan_->homes.stays) bytes_away_at_start_ -= model.graph.tensors[t].bytes.value;
    for (const Step& step : plan_->transfers.steps)
        if (step.kind == StepKind::free && is_callers(step.tensor()) && !in_host_memory_[step.tensor()])
            moves_[step.tensor()] = true;
}

Result<std::unique_ptr<StepTransfers>> StepTransfers::open(const BoundModel& model,
                                                           std::shared_ptr<const StepTransferPlan> plan,
                                                           StepLinks& links) {
    if (!links.copies) {
        Result<std::unique_ptr<CopyQueues>> copies = open_copies(model.device);
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
    }
    bring_home(operands);
    count_host_memory();
    for (TensorId t : plan_->homes.stays) {
        if (in_host_memory_[t]) continue;
        c10::Storage there = memory_for(t);
        model_.device.copy(there, at_home_[t]);
        operands.place(t, std::move(there));
    }
    std::fill(away_.begin(), away_.end(), 0);
    player_.begin(clock);
    return {};
}

/// Moves each resident whose home is on the host to its place in host memory. The caller's storages still
/// count as storages of the device, but from then on refer to this host memory, which is kept as long as
/// somebody holds the storages. Residents that another plan or the caller has already put into host memory
/// stay where they are.
void StepTransfers::bring_home(OperandTable& operands) {
    std::vector<TensorId> elsewhere;
    for (TensorId t : plan_->homes.on_host) {
        if (!lives_on_host(t)) continue;
        player_.set_home(static_cast<std::size_t>(home_[t]), slab_->data());
        if (in_host_memory_[t]) continue;
        at_home_[t] = operands.storage(t);
        bytes_[t] = at_home_[t].nbytes();
        place_[t] = home_[t];
        operands.clear(t);
        if (!slab_address(at_home_[t].data_ptr())) elsewhere.push_back(t);
    }
    if (!elsewhere.empty()) move_home(elsewhere);
    for (TensorId t : plan_->homes.on_host)
        if (at_home_[t])
            player_.set_home(static_cast<std::size_t>(home_[t]), slab_address(at_home_[t].data_ptr()));
}

void StepTransfers::move_home(const std::vector<TensorId>& tensors) {
    constexpr std::int64_t alignment = 64;
    std::int64_t end = 0;
    std::vector<std::int64_t> offsets;
    for (TensorId t : tensors) {
        offsets.push_back(end);
        end += (static_cast<std::int64_t>(bytes_[t]) + alignment - 1) / alignment * alignment;
    }
    Result<std::unique_ptr<PinnedSlab>> opened =
        open_slab(model_.device, static_cast<std::size_t>(std::max(end, alignment)));
    if (!opened) throw std::runtime_error(opened.error().message);
    const std::shared_ptr<PinnedSlab> slab = opened.take();
    std::vector<c10::DataPtr> left;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        c10::Storage& storage = at_home_[tensors[i]];
        c10::Storage home(c10::Storage::use_byte_size_t(), bytes_[tensors[i]],
                          slab_memory(slab, offsets[i], storage.device()), nullptr, false);
        model_.device.copy(home, storage);
        left.push_back(storage.set_data_ptr(home.set_data_ptr(c10::DataPtr(nullptr, storage.device()))));
    }
    model_.device.synchronize();  // before `left` frees the old memory, which another queue may then reuse
}

/// Allocates memory for a tensor. Memory for the caller's storages does not come from the step's arena,
/// because the caller keeps it after the step.
c10::Storage StepTransfers::memory_for(TensorId t) const {
    std::optional<StepMemory::Scope> outside;
    if (is_callers(t)) outside.emplace(nullptr);
    const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(model_.device.device());
    return at::empty({static_cast<std::int64_t>(bytes_[t])}, options).storage();
}

void StepTransfers::before(std::size_t at, OperandTable& operands) {
    const StepKind kind = plan_->transfers.steps[at].kind;
    if (kind == StepKind::offload || kind == StepKind::fetch) return start(at, operands);
    player_.give(at, nullptr, 0, kind == StepKind::run_host ? host_op_runner_.work(at, operands) : nullptr);
}

/// Starts the offload or fetch of this step. For a fetch, first allocates device memory.
void StepTransfers::start(std::size_t at, OperandTable& operands) {
    const Step& step = plan_->transfers.steps[at];
    const TensorId t = step.tensor();
    if (in_host_memory_[t]) {
        if (step.kind == StepKind::fetch) counted_[t] = memory_for(t);
        return player_.give(at);
    }
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

at::Tensor StepTransfers::result_on_host(const Operand& operand) const {
    const std::vector<TensorId>& there = plan_->homes.on_host;
    const TensorId t = operand.tensor;
    if (model_.resident[t] || !std::binary_search(there.begin(), there.end(), t)) return {};
    const HostPlace& place = plan_->transfers.places[static_cast<std::size_t>(place_[t])];
    c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(place.bytes),
                         slab_memory(slab_, place.offset, c10::DeviceType::CPU), nullptr, false);
    return tensor_of(operand, std::move(storage), c10::DeviceType::CPU);
}

bool StepTransfers::leaves(TensorId t) const {
    const std::vector<Step>& steps = plan_->transfers.steps;
    return std::find(steps.begin(), steps.end(), Step::free(t)) != steps.end();
}

/// Allocates device memory for those tensors in host memory that the schedule counts as tensors on the
/// device. This memory is freed and allocated again when the schedule lets such a tensor leave the device and
/// return.
void StepTransfers::count_host_memory() {
    const IdVector<TensorId, char> there = on_device_at_start(model_.graph, plan_->homes);
    for (TensorId t : model_.graph.tensors.ids()) {
        if (!in_host_memory_[t]) continue;
        bytes_[t] = static_cast<std::size_t>(model_.graph.tensors[t].bytes.value);
        counted_[t] = there[t] && leaves(t) ? memory_for(t) : c10::Storage();
    }
}

void StepTransfers::free(TensorId t, OperandTable& operands) {
    if (in_host_memory_[t] && model_.resident[t]) {
        counted_[t] = c10::Storage();
        return;
    }
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
    model_.device.synchronize();  // earlier work on this memory may still run
    links_.copies->copy_in(const_cast<void*>(to.data()), player_.place(static_cast<std::size_t>(place_[t])),
                           bytes_[t]);
    links_.copies->synchronize(CopyQueue::in);
}

void bring_to_device(const BoundModel& model, const Homes& homes, OperandTable& operands) {
    IdVector<TensorId, std::uint8_t> stays(model.graph.tensors.size(), 0);
    for (TensorId t : homes.on_host) stays[t] = 1;
    for (TensorId t : model.graph.tensors.ids()) {
        if (!model.resident[t] || stays[t] || !operands.holds(t)) continue;
        c10::Storage storage = operands.storage(t);
        if (!slab_address(storage.data_ptr())) continue;
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(storage.device());
        c10::Storage there = at::empty({static_cast<std::int64_t>(storage.nbytes())}, options).storage();
        model.device.copy(there, storage);
        model.device.synchronize();  // before the tensor's place on the host is freed
        storage.set_data_ptr(there.set_data_ptr(c10::DataPtr(nullptr, storage.device())));
    }
}

void StepTransfers::restore(OperandTable& operands) {
    for (TensorId t : model_.graph.tensors.ids()) {
        counted_[t] = c10::Storage();
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
