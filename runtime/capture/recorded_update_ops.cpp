#include "runtime/capture/recorded_update_ops.h"

#include <algorithm>
#include <set>

#include "runtime/capture/added_ops.h"
#include "runtime/capture/gradient_layout.h"

namespace rematlas {
namespace {

class RecordedParts : private AddedOps {
  public:
    RecordedParts(CapturedStep& step, const RecordedUpdate& update, const DeviceRuntime& device)
        : AddedOps(step, device), update_(update), last_(OpId(step.graph.ops.size() - 1)) {}

    Result<void> add() {
        for (const UpdateTensor& tensor : update_.tensors) {
            const Result<TensorId> known = tensor_for(tensor);
            if (!known) return Error{tensor.name + ": " + known.error().message};
            tensors_.push_back(*known);
        }
        std::vector<TensorId> before = ends_of_step();
        for (const UpdatePart& part : update_.parts) before = {add_part(part, before)};
        put_in_order();
        return {};
    }

  private:
    Result<TensorId> tensor_for(const UpdateTensor& tensor) {
        const Operand like{.dtype = tensor.tensor.scalar_type(),
                           .sizes = tensor.tensor.sizes().vec(),
                           .strides = tensor.tensor.strides().vec()};
        switch (tensor.kind) {
            case UpdateTensor::Kind::parameter:
                for (const Binding& binding : tape_.bindings)
                    if (binding.is_parameter && binding.name == tensor.name) return binding.operand.tensor;
                return Error{"the step does not know this parameter"};
            case UpdateTensor::Kind::gradient:
                for (GradientOf& gradient : tape_.gradients)
                    if (gradient.input < 0 && gradient.operand != no_operand &&
                        gradient.parameter == tensor.name)
                        return accumulated(gradient, like);
                return Error{"the step makes no gradient of this parameter"};
            default:
                break;
        }
        const TensorId state = tensor_of(add_state(tensor.name, like, 0));
        graph_.tensors[state].bytes =
            Bytes(device_.footprint(static_cast<std::int64_t>(tensor.tensor.storage().nbytes())));
        return state;
    }

    /// Returns the gradient in the layout that it has in `.grad`.
    Result<TensorId> accumulated(GradientOf& gradient, const Operand& like) {
        const Operand made = tape_.operands[gradient.operand];
        if (lies_as(made, like.strides) && !made.conjugated && !made.negated) return made.tensor;
        const auto format = format_of(like);
        if (!format) return made.tensor;
        const int copy = add_tensor("grad:" + gradient.parameter, like, TensorKind::gradient);
        const OpId maker = made_by_[made.tensor].valid() ? made_by_[made.tensor] : last_;
        Added added = op_of(
            "aten::clone", "", module_of(gradient.parameter),
            {tensor_argument(gradient.operand), value_argument(static_cast<std::int64_t>(*format))}, {copy});
        added.op.phase = Phase::backward;
        behind(maker).push_back(std::move(added));
        std::erase(graph_.results, made.tensor);
        graph_.results.insert(std::upper_bound(graph_.results.begin(), graph_.results.end(), tensor_of(copy)),
                              tensor_of(copy));
        gradient.operand = copy;
        return tensor_of(copy);
    }

    /// Gives an output without bytes to each op on which no other op of the step depends. Returns these
    /// outputs.
    std::vector<TensorId> ends_of_step() {
        IdVector<OpId, std::uint8_t> awaited(graph_.ops.size(), 0);
        for (const Op& op : graph_.ops)
            for (TensorId read : op.inputs)
                if (read.index() < made_by_.size() && made_by_[read].valid()) awaited[made_by_[read]] = true;
        std::vector<TensorId> ends;
        for (OpId op : graph_.ops.ids())
            if (!awaited[op]) ends.push_back(end_of(op));
        return ends;
    }

    /// Adds an op for the part. The op reads the tensors `before`, so it must run after their makers. Returns
    /// an output of the op that has no bytes.
    TensorId add_part(const UpdatePart& part, const std::vector<TensorId>& before) {
        std::set<TensorId> reads(before.begin(), before.end()), writes;
        for (const int place : part.reads) reads.insert(of(place));
        for (const int place : part.writes) {
            reads.insert(of(place));
            // Writes to gradients do not count, because the caller drops gradients before the next step.
            if (kind_of(place) != UpdateTensor::Kind::gradient) writes.insert(of(place));
        }
        Added added{.op = {.name = std::string(recorded_update_op),
                           .workspace = Bytes(part.temporaries),
                           .inputs = {reads.begin(), reads.end()},
                           .phase = Phase::optimizer,
                           .module = module_for(part),
                           .mutates = {writes.begin(), writes.end()},
                           .recomputable = false},
                    .tape = {.name = std::string(recorded_update_op), .stands_for = part.calls}};
        graph_.tensors.push_back({"updated", Bytes(0), TensorKind::gradient});
        const TensorId end(graph_.tensors.size() - 1);
        added.op.outputs.push_back(end);
        for (TensorId written : writes) added.tape.overwrites.push_back({written, TensorId()});
        behind(last_).push_back(std::move(added));
        return end;
    }

    TensorId of(int place) const { return tensors_[static_cast<std::size_t>(place)]; }
    UpdateTensor::Kind kind_of(int place) const {
        return update_.tensors[static_cast<std::size_t>(place)].kind;
    }

    /// Returns the parameter's module if the part updates a single parameter; else an empty text.
    std::string module_for(const UpdatePart& part) const {
        std::set<std::string> names;
        for (const int place : part.reads)
            if (kind_of(place) != UpdateTensor::Kind::state)
                names.insert(update_.tensors[static_cast<std::size_t>(place)].name);
        for (const int place : part.writes)
            if (kind_of(place) == UpdateTensor::Kind::parameter)
                names.insert(update_.tensors[static_cast<std::size_t>(place)].name);
        return names.size() == 1 ? module_of(*names.begin()) : "";
    }

    const RecordedUpdate& update_;
    const OpId last_;
    std::vector<TensorId> tensors_;  ///< the update's tensors, as ids of the step
};

}  // namespace

Result<void> add_recorded_update(CapturedStep& step, const RecordedUpdate& update,
                                 const DeviceRuntime& device) {
    return RecordedParts(step, update, device).add();
}

}  // namespace rematlas
