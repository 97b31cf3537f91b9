// A forward of the original module, cut off from the caller's graph of autograd at its inputs and outputs.
//
//     CutForward cut;
//     inputs = cut.begin(inputs);           // those that need gradients: aliases whose history ends at a
//     node of ours
//     ... the module's forward on these ...
//     cut.end(outputs, parameters);
//     cut.connect(outputs, parameters, "Name", [&](variable_list&& gradients) {   // one node in the caller's
//     graph
//         return cut.backward(gradients, parameters, false, false);               // runs the module's own
//     });
//
// The outputs stay the objects that they are; only where their history leads changes.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/torch_versions/autograd_nodes.h"

namespace rematlas {

/// What leads from one node of ours to the next: a tensor without bytes. Autograd runs a node on the thread
/// and the stream of the device that its inputs are on, and one without inputs on the caller's thread.
at::Tensor autograd_link(c10::Device device);

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
    struct Gradients {
        torch::autograd::variable_list parameters, inputs;
    };
    /// Lets the outputs, in the order that `end` returned, lead to a node of that name, whose backward is
    /// `backward`; the gradients that it returns go on to the parameters and to the caller's graph behind the
    /// inputs. The node owns `backward`.
    void connect(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& parameters,
                 std::string name, std::function<Gradients(torch::autograd::variable_list&&)> backward);
    /// The caller's graph has dropped the node.
    bool is_dropped() const { return connected_ && node_.expired(); }
    /// From now on gradients go to the module's own graph and nowhere else. Nothing happens where that has
    /// run.
    void uncut();

    /// `gradients` of the outputs that `end` named, undefined ones allowed. Hooks of the parameters do not
    /// run: the caller's graph will run them. Throws what the module's own graph throws.
    Gradients backward(const torch::autograd::variable_list& gradients,
                       const std::vector<at::Tensor>& parameters, bool keep_graph, bool create_graph);

    /// Some tensor of the module's own graph is also reached by the caller's backward that runs now: by a way
    /// that does not lead over the outputs.
    bool is_reached_around() const;

    /// Where the module's own graph begins, in the order that `end` named.
    const torch::autograd::edge_list& output_edges() const { return output_edges_; }
    /// The module's own graph has casts of parameters that others still have in theirs, of the same region of
    /// autocast say: gradients of these are summed before they are cast back.
    bool shares_casts() const;
    /// The module's own graph has several edges to one of the parameters.
    bool uses_some_twice(const std::vector<at::Tensor>& parameters) const;

  private:
    std::vector<at::Tensor> inputs_;          ///< as the module was given them, until `end`
    torch::autograd::edge_list input_edges_;  ///< the caller's
    std::vector<NodePointer> input_nodes_;
    std::vector<int> cut_;                     ///< places of outputs
    torch::autograd::edge_list output_edges_;  ///< the module's own
    WeakNode node_;
    bool connected_ = false;
};

}  // namespace rematlas
