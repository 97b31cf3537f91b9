// Records casts of weights that autocast keeps for all forwards of one region.
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include "runtime/capture/recorder.h"
#include "runtime/dispatch/stack_tensors.h"

namespace rematlas {
namespace {

/// Says whether the program is in a region of autocast that keeps casts. Asks for the number of nested
/// regions, because autocast is switched off within an op whose arguments it has cast.
bool region_keeps_casts() {
    at::autocast::increment_nesting();
    return at::autocast::decrement_nesting() > 0 && at::autocast::is_autocast_cache_enabled();
}

/// If autograd's history shows that the tensor is the cast of a parameter, returns the parameter. Otherwise
/// returns an undefined tensor.
at::Tensor source_of_cast(const at::Tensor& tensor) {
    const auto& made_by = tensor.grad_fn();
    if (!made_by || made_by->name() != "ToCopyBackward0" || made_by->num_outputs() != 1) return {};
    const auto* leaf =
        dynamic_cast<const torch::autograd::AccumulateGrad*>(made_by->next_edge(0).function.get());
    return leaf ? leaf->variable : at::Tensor();
}

}  // namespace

/// Adds to the recording the casts that the op reads and that an earlier forward in the region has made. So
/// the step is recorded as if it were the region's first.
void Recorder::take_casts(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    if (phase_ != Phase::forward || !region_keeps_casts()) return;
    for_each_tensor_of(stack, op.schema().arguments().size(),
                       [&](std::size_t, int, const at::Tensor& tensor) {
                           if (!tensor.defined() || !tensor.requires_grad() || is_known(tensor)) return;
                           const at::Tensor parameter = source_of_cast(tensor);
                           if (parameter.defined() && is_known(parameter)) take_cast(tensor, parameter);
                       });
}

/// Records an op that casts the parameter again. From then on the existing cast is the result of that op.
/// Refuses the step if the two casts differ.
void Recorder::take_cast(const at::Tensor& cast, const at::Tensor& parameter) {
    static const c10::OperatorHandle to_copy =
        c10::Dispatcher::singleton().findSchemaOrThrow("aten::_to_copy", "");
    torch::jit::Stack stack{parameter, cast.scalar_type(), {}, {}, {}, false, {}};
    observe(to_copy, parameter.key_set(), &stack);
    if (refusal_) return;
    const at::Tensor made = stack.back().toTensor();
    const int value = value_of(made);
    if (made.strides() != cast.strides() || made.storage().nbytes() != cast.storage().nbytes() ||
        digest(made) != digest(cast)) {
        refusal_ = refusal_at("a cast of a weight",
                              "it was made before in the region of autocast, and is another one by now: use "
                              "one region for each forward, or cache_enabled=False");
        return;
    }
    places_.insert_or_assign(
        cast.storage().unsafeGetStorageImpl(),
        Place{c10::weak_intrusive_ptr<c10::StorageImpl>(cast.storage().getWeakStorageImpl()), value, 0,
              recording_.values[value].bytes});
}

/// Notes the casts that the program's autocast region may hold until the region ends.
void Recorder::note_casts() {
    for (const auto& [storage, place] : places_) {
        const RecordedValue& value = recording_.values[place.value];
        if (place.storage.use_count() > 0 && value.producer >= 0 && may_be_cached_cast(value))
            casts_.push_back(place);
    }
}

std::int64_t Recorder::casts_gone() const {
    std::int64_t bytes = 0;
    for (const Place& cast : casts_)
        if (cast.storage.use_count() == 0) bytes += device_.footprint(recording_.values[cast.value].bytes);
    return bytes;
}

bool Recorder::may_be_cached_cast(const RecordedValue& value) const {
    const RecordedOp& op = recording_.ops[value.producer];
    if (op.tape.name != "aten::_to_copy" || !region_keeps_casts()) return false;
    const RecordedValue& from =
        recording_.values[recording_.operands[op.tape.arguments[0].operands[0]].tensor.value];
    return from.kind == TensorKind::parameter && from.producer < 0;
}

}  // namespace rematlas
