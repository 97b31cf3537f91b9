// A forward of the original module, cut off from the caller's graph of autograd at its inputs and outputs.
//
//     CutForward cut;
//     inputs = cut.begin(inputs);           // those that need gradients: aliases whose history ends at a
//     node of ours
//     ... the module's forward on these ...
//     cut.end(outputs, parameters);
//     cut.connect(outputs, node);           // the caller's graph sees `node` in place of the module's own
//     graph cut.backward(gradients, parameters)   // runs the module's own graph, within the backward of
//     `node`
//
// The outputs stay the objects that they are; only where their history leads changes.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <vector>

namespace rematlas {

class CutForward {
  public:
    CutForward() = default;
    CutForward(const CutForward&) = delete;
    CutForward& operator=(const CutForward&) = delete;

    /// `inputs`: all tensors that the module is given. Returns what it is to be given instead.
    std::vector<at::Tensor> begin(const std::vector<at::Tensor>& inputs);
    /// The outputs that the graph was cut at, by place; others (inputs that are passed through, what needs no
    /// gradient) stay as they are. `passed_through` are tensors that are no outputs of ours: parameters.
    std::vector<int> end(const std::vector<at::Tensor>& outputs,
                         const std::vector<at::Tensor>& passed_through);
    /// Lets the outputs lead to `node`, in the order that `end` returned.
    void connect(const std::vector<at::Tensor>& outputs, const std::shared_ptr<torch::autograd::Node>& node);
    /// Where the gradients of the inputs go, by place; invalid where an input needs none.
    const torch::autograd::edge_list& input_edges() const { return input_edges_; }

    struct Gradients {
        torch::autograd::variable_list parameters, inputs;
    };
    /// `gradients` of the outputs that `end` named, undefined ones allowed. Hooks of the parameters do not
    /// run: the caller's graph will run them. Throws what the module's own graph throws.
    Gradients backward(const torch::autograd::variable_list& gradients,
                       const std::vector<at::Tensor>& parameters, bool keep_graph, bool create_graph);

    /// Some tensor of the module's own graph is also reached by the caller's backward that runs now: by a way
    /// that does not lead over the outputs.
    bool is_reached_around() const;

    /// Where the module's own graph begins, in the order that `end` named.
    const torch::autograd::edge_list& output_edges() const { return output_edges_; }
    /// The module's own graph has several edges to one of the parameters.
    bool uses_some_twice(const std::vector<at::Tensor>& parameters) const;

  private:
    std::vector<at::Tensor> inputs_;          ///< as the module was given them, until `end`
    torch::autograd::edge_list input_edges_;  ///< the caller's
    std::vector<std::shared_ptr<torch::autograd::Node>> input_nodes_;
    std::vector<int> cut_;                     ///< places of outputs
    torch::autograd::edge_list output_edges_;  ///< the module's own
};

/// A chain of nodes that hands gradients out: those of the parameters from the last to the first, as a
/// backward makes them, so that who waits for them (DistributedDataParallel) sees about the order of plain
/// training; then those of the inputs. `gradients` is filled before the chain runs: of the parameters, then
/// of the inputs.
torch::autograd::Edge hand_out(const std::shared_ptr<torch::autograd::variable_list>& gradients,
                               const std::vector<at::Tensor>& parameters,
                               const torch::autograd::edge_list& inputs);

}  // namespace rematlas
