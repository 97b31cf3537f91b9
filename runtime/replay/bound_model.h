// A captured step bound to the tensors of a model: everything that all runs of the step share.
//
//     Result<std::unique_ptr<BoundModel>> model =
//         BoundModel::bind(graph, tape, tensors, "model.pt", *device);
//     ReplayRun run(**model);
//
// The caller keeps its parameters and buffers, and may exchange their memory between steps. Threads: one at
// a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/model/named_tensor.h"
#include "runtime/replay/operand_table.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// An op with its kernel looked up. Positions count the arguments of the op.
struct PreparedOp {
    std::optional<c10::OperatorHandle> handle;  ///< none for rematlas::output_gradients
    std::vector<std::size_t> lists;             ///< copied for each run, because kernels may change them
    std::vector<std::size_t> statistics;        ///< only the first run gets these
    int turn = -1;  ///< for a random op: its place among all random ops, in the captured order
};

struct StepLinks;

class BoundModel {
  public:
    /// `graph` and `device` must outlive the result. `states`: the tensors of the optimizer, see
    /// `rebind_states`; if there are none, they are made. Errors: names, shapes, types or places in memory
    /// that differ from the captured model's; a graph of another kind of device, another GPU or version of
    /// torch, or other settings; operators that this libtorch does not have. Errors about tensors begin
    /// with `owner`.
    static Result<std::unique_ptr<BoundModel>> bind(const Graph& graph, Tape tape,
                                                    const std::vector<NamedTensor>& tensors,
                                                    const std::string& owner, DeviceRuntime& device,
                                                    std::vector<at::Tensor> states = {});
    ~BoundModel();

    /// Takes other tensors in place of those that were bound, in the order of Tape::bindings. This is cheap
    /// if they are the same. Errors: as `bind`.
    Result<void> rebind(const std::vector<at::Tensor>& tensors);
    /// Does the same for the tensors that the optimizer keeps, in the order of Tape::states.
    Result<void> rebind_states(std::vector<at::Tensor> tensors);
    /// Checks that the bound tensors still fit, and makes `operands` look at their present memory.
    Result<void> place_bound(OperandTable& operands) const;
    Result<void> place_inputs(OperandTable& operands, const std::vector<at::Tensor>& inputs) const;
    void place_constants(OperandTable& operands) const;
    /// Checks that the settings of libtorch are those that the step was captured under.
    Result<void> check_settings() const;
    /// The arguments of an op on these operands, as its kernel takes them.
    torch::jit::Stack arguments_of(OpId op, const OperandTable& operands) const;
    /// The same on other tensors, which `tensor_of` gives by operand.
    torch::jit::Stack arguments_of(OpId op, const std::function<at::Tensor(int)>& tensor_of) const;

    /// How far all random ops before this turn together move the generator.
    std::int64_t draws_before(int turn) const;
    /// The number, the name and the module of the op, for errors.
    std::string label(OpId op) const;

    const Graph& graph;
    Tape tape;                        ///< without the bytes of its constants
    std::int64_t values_version = 0;  ///< increases when values that ops take are changed
    DeviceRuntime& device;
    const std::string owner;  ///< name of the owner of the bound tensors, for errors
    IdVector<OpId, PreparedOp> ops;
    std::vector<OpId> random_ops;
    int forward_random = 0;  ///< random ops that come before the loss in the captured order
    IdVector<TensorId, std::uint8_t> resident;
    std::int64_t resident_bytes = 0;
    OpId loss;  ///< the op that asks for the gradients of the outputs; invalid if the graph has its own loss
    bool guarded = false;            ///< some op must read the value that it read when it was captured
    std::vector<at::Tensor> bound;   ///< in the order of Tape::bindings
    std::vector<at::Tensor> states;  ///< tensors of the optimizer, in the order of Tape::states
    const std::unique_ptr<StepLinks> links;  ///< links that all runs of the model share

  private:
    BoundModel(const Graph& graph, Tape tape, const std::string& owner, DeviceRuntime& device);
    Result<void> check_device();
    Result<void> check_geometry() const;
    Result<void> check_bound(std::size_t binding) const;
    c10::Device place_of(const Operand& operand) const {
        return operand.on_host ? c10::Device(c10::kCPU) : device.device();
    }
    Result<void> bind_names(const std::vector<NamedTensor>& tensors);
    Result<void> make_states();
    Result<void> check_states() const;
    Result<void> make_constants();
    Result<void> prepare();
    PreparedOp prepare(OpId op);
    bool updates_for_good(const TapeOp& op, int operand) const;

    std::vector<std::pair<TensorId, c10::Storage>> constants_;
    std::optional<KernelSettings> settings_;  ///< settings that the step was captured under; absent if
                                              ///< settings do not choose kernels
};

/// True if the tensor has these strides. The stride of an axis with one element does not count.
bool lies_as(const at::Tensor& tensor, c10::IntArrayRef strides);

}  // namespace rematlas
