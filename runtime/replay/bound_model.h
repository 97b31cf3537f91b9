// A captured step that is bound to the tensors of a model, with everything that all runs of the step share.
//
//     Result<std::unique_ptr<BoundModel>> model =
//         BoundModel::bind(graph, tape, tensors, "model.pt", *device);
//     ReplayRun run(**model);
//
// The caller keeps its parameters and buffers, and may exchange their memory between steps. Threads: only one
// thread at a time may use the object.
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

/// An op whose kernel has been looked up. `lists` and `statistics` are positions among the op's arguments.
struct PreparedOp {
    std::optional<c10::OperatorHandle> handle;  ///< unset for rematlas::output_gradients
    std::vector<std::size_t> lists;             ///< lists, which are copied for each run because kernels may
                                                ///< change them
    std::vector<std::size_t> statistics;        ///< operands that only the first run gets, such as running
                                                ///< statistics
    bool is_collective = false;                 ///< whether the op's results must be waited for
    int turn = -1;  ///< for a random op: its position among all random ops, in the captured order; for other
                    ///< ops -1
};

struct StepLinks;

class BoundModel {
  public:
    /// `graph` and `device` must outlive the result. `states`: the optimizer's tensors, see `rebind_states`;
    /// they are made if the list is empty. Fails if a tensor differs from the captured model's in name,
    /// shape, type, device or memory layout. Fails if the graph was captured for another kind of device, GPU
    /// or version of torch, or under other settings. Fails if this libtorch lacks an operator. Errors about
    /// tensors begin with `owner`.
    static Result<std::unique_ptr<BoundModel>> bind(const Graph& graph, Tape tape,
                                                    const std::vector<NamedTensor>& tensors,
                                                    const std::string& owner, DeviceRuntime& device,
                                                    std::vector<at::Tensor> states = {});
    ~BoundModel();

    /// Replaces the bound tensors by these, in the order of Tape::bindings. This is cheap for a tensor that
    /// is the same object as before. Fails if the number of tensors differs; `place_bound` checks the rest.
    Result<void> rebind(const std::vector<at::Tensor>& tensors);
    /// Binds other tensors of the optimizer, in the order of Tape::states. Fails if a tensor differs in type,
    /// shape or layout from the captured one.
    Result<void> rebind_states(std::vector<at::Tensor> tensors);
    /// Checks that the bound tensors still fit, and makes `operands` refer to their present memory.
    Result<void> place_bound(OperandTable& operands) const;
    Result<void> place_inputs(OperandTable& operands, const std::vector<at::Tensor>& inputs) const;
    void place_constants(OperandTable& operands) const;
    /// Checks that the settings of libtorch are the same as when the step was captured.
    Result<void> check_settings() const;
    /// Returns the arguments that the op's kernel takes, with the tensors of `operands`.
    torch::jit::Stack arguments_of(OpId op, const OperandTable& operands) const;
    /// As above, but with the tensors that `tensor_of` returns for the indices of operands.
    torch::jit::Stack arguments_of(OpId op, const std::function<at::Tensor(int)>& tensor_of) const;

    /// Returns how far all random ops before this turn (PreparedOp::turn) advance the generator together.
    std::int64_t draws_before(int turn) const;
    /// Returns the number, the name and the module of the op, for errors.
    std::string label(OpId op) const;

    const Graph& graph;
    Tape tape;                        ///< tape without the bytes of its constants
    std::int64_t values_version = 0;  ///< increases whenever argument values in `tape` may have been changed
    DeviceRuntime& device;
    const std::string owner;  ///< name of the owner of the bound tensors, for errors
    IdVector<OpId, PreparedOp> ops;
    std::vector<OpId> random_ops;
    int forward_random = 0;  ///< number of random ops before the loss in the captured order
    IdVector<TensorId, std::uint8_t> resident;
    std::int64_t resident_bytes = 0;
    OpId loss;  ///< the op that asks for the gradients of the outputs; invalid if the graph has its own loss
    bool guarded = false;            ///< whether some op must return the same value, or the same sizes, as
                                     ///< when it was captured
    std::vector<at::Tensor> bound;   ///< parameters and buffers, in the order of Tape::bindings
    std::vector<at::Tensor> states;  ///< tensors of the optimizer, in the order of Tape::states
    const std::unique_ptr<StepLinks> links;  ///< links to the host, which all runs of the model share

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
    std::optional<KernelSettings> settings_;  ///< settings under which the step was captured; absent if no
                                              ///< setting decides which kernels run
};

/// Says whether the tensor has these strides. The stride of an axis with one element is ignored.
bool lies_as(const at::Tensor& tensor, c10::IntArrayRef strides);

}  // namespace rematlas
