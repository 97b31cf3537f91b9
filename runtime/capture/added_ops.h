// Adds ops, tensors and states behind the ops of a captured step.
//
//     AddedOps added(step, device);
//     const int sum = added.add_state("w.grad", like, 0);
//     added.behind(op).push_back(added.op_of("aten::add_", "Tensor", "", {...}, {}));
//     added.put_in_order();   // the step has them now
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/capture/build_graph.h"
#include "runtime/device/device.h"

namespace rematlas {

Argument tensor_argument(int operand);
Argument tensors_argument(std::vector<int> operands);
Argument value_argument(c10::IValue value);

class AddedOps {
  public:
    /// `step` and `device` outlive the object.
    AddedOps(CapturedStep& step, const DeviceRuntime& device);

    struct Added {
        Op op;
        TapeOp tape;
    };
    TensorId tensor_of(int operand) const;
    int add_operand(Operand operand);
    /// Returns an operand with a new tensor, whose geometry and type are those of `like`.
    int add_tensor(std::string name, Operand like, TensorKind kind);
    /// Returns an operand with a new state of the optimizer.
    int add_state(const std::string& name, const Operand& like, double initial);
    /// Returns an op of the step's end. `returns`: operands that it makes.
    Added op_of(std::string name, std::string overload, std::string module, std::vector<Argument> arguments,
                const std::vector<int>& returns) const;
    /// Adds an op behind the last one of the captured step and returns the operand that it makes.
    int add_number(std::string name, const char* op, const char* overload, std::vector<Argument> arguments,
                   const Operand& like);
    /// The op writes its result over the tensor of the operand `before`.
    void overwrite(int before, int after, Added& added) const;
    /// True if some op makes the tensor, so that it may be written over.
    bool made_by_of(TensorId tensor) const;
    /// Adds a state of that name, and an op that copies the value to it.
    void tell(const char* name, int value, const Operand& number, OpId after);
    /// Says for each op whether `last` cannot run without it.
    std::vector<std::uint8_t> leading_to(OpId last) const;
    /// Returns a tensor without bytes that the op makes: an op that reads the tensor runs after this op.
    TensorId end_of(OpId op);
    /// Puts all that was added into the step.
    void put_in_order();

    /// The ops that are added behind an op of the captured step, in order.
    std::vector<Added>& behind(OpId op) { return added_[op]; }

  protected:
    Graph& graph_;
    Tape& tape_;
    const DeviceRuntime& device_;
    IdVector<TensorId, OpId> made_by_;

  private:
    std::map<OpId, TensorId> ends_;
    std::map<OpId, std::vector<Added>> added_;
};

}  // namespace rematlas
