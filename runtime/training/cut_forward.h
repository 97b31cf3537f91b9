// A forward of the original module. The autograd graph of this forward is cut off from the caller's graph, at
// the module's inputs and outputs.
//
//     CutForward cut;
//     // Inputs that need gradients become aliases whose history ends at a node of Rematlas.
//     inputs = cut.begin(inputs);
//     ... the module's forward on these inputs ...
//     cut.end(outputs, parameters);
//     // The caller's graph gets one node, which runs the module's own graph.
//     cut.connect(outputs, parameters, "Name", [&](torch::autograd::variable_list&& gradients) {
//         return cut.backward(gradients, parameters, false, false);
//     });
//
// The outputs stay the same objects; only their history changes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/torch_versions/autograd_nodes.h"

namespace rematlas {

/// Returns a tensor without bytes, which each node of Rematlas passes to the next one. Autograd runs a node
/// on the thread and the stream of the device that its inputs are on, and a node without inputs on the
/// caller's thread.
at::Tensor autograd_link(c10::Device device);

inline constexpr const char* has_run_before =
    "rematlas: this backward has run before, and its tensors are freed (specify retain_graph=True the first "
    "time)";

class CutForward {
  public:
    CutForward() = default;
    CutForward(const CutForward&) = delete;
    CutForward& operator=(const CutForward&) = delete;

    /// `inputs`: all tensors that the module is given. Returns the tensors that the module must be given
    /// instead.
    std::vector<at::Tensor> begin(const std::vector<at::Tensor>& inputs);
    /// Returns the positions of the outputs at which the graph was cut. All other outputs (inputs that are
    /// passed through, outputs that need no gradient) do not change. `passed_through`: the module's
    /// parameters and buffers, which do not count as outputs even if the module returns them.
    std::vector<int> end(const std::vector<at::Tensor>& outputs,
                         const std::vector<at::Tensor>& passed_through);
    struct Gradients {
        torch::autograd::variable_list parameters, inputs;
        /// Further terms of these gradients, in the order in which they must be added, each with its place: a
        /// parameter's position, or the number of parameters plus an input's position. There are none if
        /// `parameters` and `inputs` are whole gradients.
        std::vector<std::pair<std::size_t, at::Tensor>> further = {};
    };
    /// Makes a node called `name` in the caller's graph, and connects the outputs to it, in the order that
    /// `end` returned. The node runs `backward`, and passes the gradients that `backward` returns to the
    /// parameters and to the caller's graph behind the inputs. The node owns `backward`.
    void connect(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& parameters,
                 std::string name, std::function<Gradients(torch::autograd::variable_list&&)> backward);
    /// Says whether the caller's graph has dropped the node.
    bool is_dropped() const { return connected_ && node_.expired(); }
    /// Undoes the cut: from now on the caller's backward runs through the module's own graph, without calling
    /// `backward`. Does nothing if the module's own graph has run already.
    void uncut();

    /// Runs the module's own graph. `gradients` has a gradient for each output that `end` returned; a
    /// gradient may be undefined. Hooks of the parameters do not run here, because the caller's graph will
    /// run them. Outputs without a gradient may get one in a later call. Returns terms instead of whole
    /// gradients if `why_sums_differ`, unless there is a reentrant checkpoint. Throws the exceptions of the
    /// module's own graph.
    Gradients backward(const torch::autograd::variable_list& gradients,
                       const std::vector<at::Tensor>& parameters, bool keep_graph, bool create_graph);

    /// Frees the module's own graph. Later gradients of outputs raise an error. Must be called after
    /// `backward`.
    void free_rest();

    /// Says whether the module's own graph contains a checkpoint of the reentrant kind, which runs only in a
    /// backward that fills `.grad`.
    bool holds_reentrant_checkpoint() const;

    /// Says whether the running backward of the caller also reaches the module's own graph by another way
    /// than through the outputs. Must be called after `connect`.
    bool is_reached_around() const;

    /// Returns the edges at which the module's own graph begins, in the order that `end` returned.
    const torch::autograd::edge_list& output_edges() const { return output_edges_; }
    /// Says whether the module's own graph shares casts of parameters with other graphs, for example with the
    /// graph of another forward in the same region of autocast. Autograd sums the gradients of such casts
    /// before it casts them back.
    bool shares_casts() const;
    /// Says whether the module's own graph has several edges to one of the parameters, of which there are so
    /// many. Must be called after `connect`.
    bool sums_gradients(std::size_t parameters) const;
    /// Returns why whole gradients of the module would be added in another order than without Rematlas, see
    /// `get_gradients_before_this_sum`; null if they would not. Must be called in `backward`.
    const char* why_sums_differ() const;

  private:
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    void lead_aliases_to_caller();
    void lead_nodes_to_caller();
    void count_uses(const std::vector<at::Tensor>& parameters);
    torch::autograd::edge_list targets() const;

    std::vector<at::Tensor> inputs_;          ///< tensors that the module was given, until `end`
    torch::autograd::edge_list input_edges_;  ///< edges of the caller's graph
    std::vector<NodePointer> input_nodes_;
    std::vector<WeakTensor> aliases_;  ///< tensors that the module was given instead of inputs
    /// Edges to the parameters, as they were after the forward. A parameter that is frozen or gets another
    /// type afterwards has no edge or another one.
    torch::autograd::edge_list parameter_edges_;
    std::vector<int> uses_;                    ///< per parameter, then per input: number of edges to it
    std::vector<int> cut_;                     ///< positions of the outputs at which the graph was cut
    torch::autograd::edge_list output_edges_;  ///< edges of the module's own graph
    WeakNode node_;
    bool connected_ = false;
    bool is_freed_ = false;  ///< whether a backward has freed what the module's own graph has saved
};

}  // namespace rematlas
