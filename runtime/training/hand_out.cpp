#include "runtime/training/hand_out.h"

#include <torch/csrc/autograd/variable.h>

#include <cstddef>
#include <string>
#include <utility>

#include "runtime/torch_versions/autograd_nodes.h"

namespace rematlas {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

class HandOutNode final : public Node {
  public:
    HandOutNode(std::shared_ptr<GradientTerms> gradients, std::vector<std::size_t> places, at::Tensor link,
                bool is_last)
        : gradients_(std::move(gradients)),
          places_(std::move(places)),
          link_(std::move(link)),
          is_last_(is_last) {
        add_input_metadata(link_);
    }
    std::string name() const override { return "RematlasGradients"; }
    variable_list apply(variable_list&&) override {
        variable_list result;
        for (std::size_t place : places_)
            for (at::Tensor& term : (*gradients_)[place]) result.push_back(std::move(term));
        if (!is_last_) result.push_back(link_);
        return result;
    }

  private:
    std::shared_ptr<GradientTerms> gradients_;
    std::vector<std::size_t> places_;
    at::Tensor link_;
    bool is_last_;
};

}  // namespace

Edge hand_out(const std::shared_ptr<GradientTerms>& gradients, const std::vector<at::Tensor>& parameters,
              const edge_list& inputs, const at::Tensor& link) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < inputs.size(); ++i) places.push_back(parameters.size() + i);
    NodePointer next = make_node<HandOutNode>(gradients, places, link, true);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        for (std::size_t term = 0; term < (*gradients)[places[i]].size(); ++term)
            next->add_next_edge(inputs[i]);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        NodePointer node = make_node<HandOutNode>(gradients, std::vector<std::size_t>{i}, link, false);
        for (std::size_t term = 0; term < (*gradients)[i].size(); ++term)
            node->add_next_edge(torch::autograd::impl::gradient_edge(parameters[i]));
        node->add_next_edge(Edge(next, 0));
        next = std::move(node);
    }
    return {next, 0};
}

}  // namespace rematlas
