#include "runtime/training/cut_forward.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/shapes/shape_tensor.h"
#include "runtime/training/gradient_terms.h"
#include "runtime/training/graph_nodes.h"
#include "runtime/training/hand_out.h"
#include "runtime/training/outside_gradients.h"
#include "runtime/training/python_error.h"

namespace rematlas {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// The node at which the history of a module's input ends. It passes gradients on, so that a second
/// derivative reaches the caller's graph.
class InputNode final : public Node {
  public:
    explicit InputNode(Edge next) { add_next_edge(std::move(next)); }
    std::string name() const override { return "RematlasInput"; }
    variable_list apply(variable_list&& gradients) override {
        if (next_edges_.empty()) collected = std::move(gradients[0]);
        return next_edges_.empty() ? variable_list() : std::move(gradients);
    }

    /// Makes gradients end here until the next call, because the caller's graph behind the input must not run
    /// within the module's own graph.
    void detach_or_attach() { beyond_.swap(next_edges_); }

    at::Tensor collected;  ///< gradient that arrived while the node was detached

  private:
    edge_list beyond_;
};

/// While an object of this class lives, gradients end at the nodes of the inputs.
class Detached {
  public:
    explicit Detached(const std::vector<NodePointer>& nodes) : nodes_(nodes) { detach_or_attach(); }
    Detached(const Detached&) = delete;
    Detached& operator=(const Detached&) = delete;
    ~Detached() { detach_or_attach(); }

  private:
    void detach_or_attach() const {
        for (const auto& node : nodes_)
            if (node) static_cast<InputNode&>(*node).detach_or_attach();
    }

    const std::vector<NodePointer>& nodes_;
};

bool is_input_node(const Node& node) {
    return dynamic_cast<const InputNode*>(&node) != nullptr;
}

/// While an object of this class lives, the hooks of a parameter are set aside, and its gradient if that is
/// asked for.
class PutAside {
  public:
    PutAside(at::Tensor parameter, NodePointer accumulator, bool gradient_too)
        : parameter_(std::move(parameter)), accumulator_(std::move(accumulator)) {
        if (!accumulator_) return;
        if (gradient_too) gradient_ = std::exchange(parameter_.mutable_grad(), at::Tensor());
        swap();
    }
    PutAside(PutAside&& other) noexcept = default;
    ~PutAside() {
        if (!accumulator_) return;  // moved from, or a parameter that needed no gradient in the forward
        swap();
        if (gradient_) parameter_.mutable_grad() = *std::move(gradient_);
    }
    at::Tensor take() { return accumulator_ ? std::move(parameter_.mutable_grad()) : at::Tensor(); }

  private:
    void swap() {
        torch::autograd::impl::hooks(parameter_).swap(hooks_);
        accumulator_->post_hooks().swap(post_hooks_);
        accumulator_->tensor_post_acc_grad_hooks().swap(after_accumulation_);
    }

    at::Tensor parameter_;
    NodePointer accumulator_;
    std::optional<at::Tensor> gradient_;
    std::vector<std::unique_ptr<torch::autograd::FunctionPreHook>> hooks_;
    std::vector<std::unique_ptr<torch::autograd::FunctionPostHook>> post_hooks_;
    std::unique_ptr<torch::autograd::PostAccumulateGradHook> after_accumulation_;
};

bool is_one_of(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](const at::Tensor& other) { return other.is_same(tensor); });
}

class ViewNode final : public Node {
  public:
    explicit ViewNode(const Edge& next) { add_next_edge(next); }
    std::string name() const override { return "RematlasView"; }
    variable_list apply(variable_list&& gradients) override { return std::move(gradients); }
};

/// The one node that stands for the module in the caller's graph.
class CutNode final : public WeaklyKnownNode {
  public:
    using Backward = std::function<CutForward::Gradients(variable_list&&)>;
    CutNode(std::string name, Backward backward, std::shared_ptr<GradientTerms> made, Edge next,
            at::Tensor link)
        : name_(std::move(name)),
          backward_(std::move(backward)),
          made_(std::move(made)),
          link_(std::move(link)) {
        add_next_edge(std::move(next));
    }
    std::string name() const override { return name_; }
    variable_list apply(variable_list&& gradients) override {
        if (!backward_) return std::move(gradients);
        // Copies the function, because the call may lead to `pass_on`, which resets `backward_`.
        const Backward backward = backward_;
        CutForward::Gradients made = backward(std::move(gradients));
        const std::size_t parameters = made.parameters.size();
        for (std::size_t i = 0; i < made_->size(); ++i)
            (*made_)[i].front() =
                std::move(i < parameters ? made.parameters[i] : made.inputs[i - parameters]);
        std::vector<std::size_t> next(made_->size(), 1);
        for (auto& [place, term] : made.further) (*made_)[place][next[place]++] = std::move(term);
        return {link_};
    }
    void pass_on(const edge_list& to) {
        backward_ = nullptr;
        // Autograd still runs the nodes in a valid order, because only this node leads to the nodes behind
        // it.
        next_edges_ = to;
    }

  private:
    void let_go() override { backward_ = nullptr, made_ = nullptr, link_ = at::Tensor(); }

    std::string name_;
    Backward backward_;
    std::shared_ptr<GradientTerms> made_;  ///< gradients that the chain of nodes behind this node passes on
    at::Tensor link_;
};

/// Runs a backward within a node of another backward. When a Python function fails, Python's engine leaves
/// the error set in the thread, even if the thread is autograd's own. The next Python code in the thread
/// would fail with this error. So the error is cleared here; the exception carries it on.
variable_list execute_nested(const edge_list& roots, const variable_list& seeds, bool keep_graph,
                             bool create_graph, bool accumulate_grad, const edge_list& targets) {
    try {
        return torch::autograd::Engine::get_default_engine().execute(roots, seeds, keep_graph, create_graph,
                                                                     accumulate_grad, targets);
    } catch (...) {
        clear_python_error();
        throw;
    }
}

}  // namespace

at::Tensor autograd_link(c10::Device device) {
    return shape_tensor({0}, c10::ScalarType::Float, device);
}

std::vector<at::Tensor> CutForward::begin(const std::vector<at::Tensor>& inputs) {
    inputs_ = inputs;
    aliases_.assign(inputs.size(), WeakTensor(at::Tensor().getIntrusivePtr()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        at::Tensor& input = inputs_[i];
        if (!input.defined() || !input.requires_grad() || !at::GradMode::is_enabled()) {
            input_edges_.emplace_back();
            input_nodes_.push_back(nullptr);
            continue;
        }
        input_edges_.push_back(torch::autograd::impl::gradient_edge(input));
        input_nodes_.push_back(make_node<InputNode>(input_edges_.back()));
        const auto* original = input.unsafeGetTensorImpl();
        at::Tensor alias(original->shallow_copy_and_detach(original->version_counter(),
                                                           /*allow_tensor_metadata_change=*/true));
        torch::autograd::impl::set_gradient_edge(
            alias, Edge(input_nodes_.back(), input_nodes_.back()->add_input_metadata(alias)));
        aliases_[i] = WeakTensor(alias.getIntrusivePtr());
        input = std::move(alias);
    }
    return inputs_;
}

std::vector<int> CutForward::end(const std::vector<at::Tensor>& outputs,
                                 const std::vector<at::Tensor>& passed_through) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const at::Tensor& output = outputs[i];
        if (!output.defined() || !output.requires_grad() || is_one_of(output, inputs_) ||
            is_one_of(output, passed_through) || !output.grad_fn())
            continue;
        cut_.push_back(static_cast<int>(i));
        output_edges_.push_back(torch::autograd::impl::gradient_edge(output));
    }
    inputs_.clear();
    return cut_;
}

void CutForward::connect(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& parameters,
                         std::string name, CutNode::Backward backward) {
    count_uses(parameters);
    const auto made = std::make_shared<GradientTerms>();
    for (const int uses : uses_) made->emplace_back(std::max(1, uses));
    const at::Tensor link =
        autograd_link(cut_.empty() ? c10::Device(c10::kCPU) : outputs[cut_.front()].device());
    const NodePointer node = make_node<CutNode>(std::move(name), std::move(backward), made,
                                                hand_out(made, parameters, input_edges_, link), link);
    for (int place : cut_) {
        const at::Tensor& output = outputs[place];
        Edge edge(node, node->add_input_metadata(output));
        if (edge.input_nr > 0 && output.is_view()) {
            // Autograd assumes that a view is the only result of its node, so the view gets its own node.
            const NodePointer view = make_node<ViewNode>(edge);
            edge = Edge(view, view->add_input_metadata(output));
        }
        torch::autograd::impl::set_gradient_edge(output, edge);
    }
    node_ = WeakNode(node);
    connected_ = true;
}

void CutForward::uncut() {
    const auto node = node_.lock();
    if (!node || output_edges_.empty()) return;
    lead_aliases_to_caller();
    lead_nodes_to_caller();
    static_cast<CutNode&>(*node).pass_on(output_edges_);
}

/// Makes nodes that are added for the module's inputs from now on lead to the caller's graph. A node of an
/// input would add the terms of a gradient before it passes the gradient on.
void CutForward::lead_aliases_to_caller() {
    for (std::size_t i = 0; i < aliases_.size(); ++i)
        if (const auto alias = aliases_[i].lock(); alias.defined())
            torch::autograd::impl::set_gradient_edge(at::Tensor(alias), input_edges_[i]);
}

/// Makes the module's own graph lead to the caller's graph without the nodes of the inputs.
void CutForward::lead_nodes_to_caller() {
    std::unordered_map<const Node*, std::size_t> places;
    for (std::size_t i = 0; i < input_nodes_.size(); ++i)
        if (input_nodes_[i]) places[input_nodes_[i].get()] = i;
    for_each_node(output_edges_, [&](Node& node) {
        if (is_input_node(node)) return false;
        for (Edge& edge : node.next_edges())
            if (const auto found = places.find(edge.function.get()); found != places.end())
                edge = input_edges_[found->second];
        return true;
    });
}

void CutForward::count_uses(const std::vector<at::Tensor>& parameters) {
    parameter_edges_.clear();
    for (const at::Tensor& parameter : parameters)
        parameter_edges_.push_back(parameter.requires_grad() ? torch::autograd::impl::gradient_edge(parameter)
                                                             : Edge());
    uses_ = rematlas::count_uses(output_edges_, targets());
}

edge_list CutForward::targets() const {
    edge_list targets = parameter_edges_;
    for (const NodePointer& node : input_nodes_) targets.push_back(node ? Edge(node, 0) : Edge());
    return targets;
}

const char* CutForward::why_sums_differ() const {
    edge_list summed_parameters, summed_inputs;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        if (uses_[i] < 2) continue;
        if (i < parameter_edges_.size())
            summed_parameters.push_back(parameter_edges_[i]);
        else
            summed_inputs.push_back(input_edges_[i - parameter_edges_.size()]);
    }
    if (get_gradients_before_this_sum(summed_parameters)) return summed_otherwise;
    return get_gradients_before_this_sum(summed_inputs) ? input_summed_otherwise : nullptr;
}

void CutForward::free_rest() {
    is_freed_ = true;
    output_edges_.clear();
}

bool CutForward::holds_reentrant_checkpoint() const {
    bool found = false;
    for_each_node(output_edges_, [&](const Node& node) {
        found = found || node.name() == "CheckpointFunctionBackward";
        return !is_input_node(node);
    });
    return found;
}

bool CutForward::is_reached_around() const {
    const auto* reached = torch::autograd::get_current_graph_task_nodes_in_graph();
    if (!reached) return false;
    std::unordered_set<const Node*> ends;
    for (const Edge& end : parameter_edges_) ends.insert(end.function.get());
    bool found = false;
    for_each_node(output_edges_, [&](const Node& node) {
        const bool outside = is_input_node(node) || node.next_edges().empty() || ends.contains(&node);
        found = found || (!outside && reached->count(const_cast<Node*>(&node)) > 0);
        return !outside && !found;
    });
    return found;
}

bool CutForward::shares_casts() const {
    struct Uses {
        long all = 0, own = 0;
    };
    std::unordered_map<const Node*, Uses> casts;
    const auto count = [&](const edge_list& edges) {
        for (const Edge& edge : edges) {
            if (!edge.function || edge.function->name() != "ToCopyBackward0") continue;
            Uses& uses = casts[edge.function.get()];
            uses.all = edge.function.use_count();
            ++uses.own;
        }
    };
    count(output_edges_);
    for_each_node(output_edges_, [&](const Node& node) {
        if (!is_input_node(node)) count(node.next_edges());
        return !is_input_node(node);
    });
    return std::any_of(casts.begin(), casts.end(), [](const auto& cast) {
        const auto& edges = cast.first->next_edges();
        const bool of_leaf = !edges.empty() && edges.front().function &&
                             edges.front().function->name() == "torch::autograd::AccumulateGrad";
        // `own` counts the edges of this graph. One more reference is held by the tensor that the cast made.
        return of_leaf && cast.second.all > cast.second.own + 1;
    });
}

bool CutForward::sums_gradients(std::size_t parameters) const {
    return std::any_of(uses_.begin(), uses_.begin() + std::min(parameters, uses_.size()),
                       [](int uses) { return uses > 1; });
}

CutForward::Gradients CutForward::backward(const variable_list& gradients,
                                           const std::vector<at::Tensor>& parameters, bool keep_graph,
                                           bool create_graph) {
    const auto is_defined = [](const at::Tensor& gradient) { return gradient.defined(); };
    TORCH_CHECK(!is_freed_ || std::none_of(gradients.begin(), gradients.end(), is_defined), has_run_before);
    edge_list roots;
    variable_list seeds;
    for (std::size_t i = 0; i < output_edges_.size(); ++i) {
        if (!gradients[i].defined()) continue;
        roots.push_back(output_edges_[i]);
        seeds.push_back(gradients[i]);
    }
    Gradients result{.parameters = variable_list(parameters.size()),
                     .inputs = variable_list(input_nodes_.size())};
    if (roots.empty()) return result;

    if (!connected_) count_uses(parameters);
    const bool fills_grad = holds_reentrant_checkpoint();
    const bool apart = !fills_grad && why_sums_differ();
    std::vector<PutAside> aside;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        aside.emplace_back(parameters[i], parameter_edges_[i].function, fills_grad);
    // Outputs without a gradient may get one in a backward of their own.
    if (!keep_graph && !create_graph && roots.size() == output_edges_.size()) free_rest();
    const auto put = [&](std::size_t place, at::Tensor gradient) {
        at::Tensor& first =
            place < parameters.size() ? result.parameters[place] : result.inputs[place - parameters.size()];
        if (first.defined())
            result.further.emplace_back(place, std::move(gradient));
        else
            first = std::move(gradient);
    };
    // A second derivative leads to the caller's graph, where the terms of this derivative are added.
    if (create_graph) lead_aliases_to_caller();
    const Detached detached(input_nodes_);
    if (fills_grad) {
        execute_nested(roots, seeds, keep_graph, create_graph, /*accumulate_grad=*/true, {});
        for (std::size_t i = 0; i < parameters.size(); ++i) put(i, aside[i].take());
        for (std::size_t i = 0; i < input_nodes_.size(); ++i)
            if (input_nodes_[i])
                put(parameters.size() + i, std::move(static_cast<InputNode&>(*input_nodes_[i]).collected));
        return result;
    }
    if (apart) {
        const TermsApart terms(roots, targets());
        variable_list made =
            execute_nested(roots, seeds, keep_graph, create_graph, /*accumulate_grad=*/false, terms.ends());
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i].defined()) put(terms.target_of(i), std::move(made[i]));
        return result;
    }
    edge_list ends = targets();
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < ends.size(); ++i)
        if (ends[i].function) places.push_back(i);
    std::erase_if(ends, [](const Edge& end) { return !end.function; });
    variable_list made =
        execute_nested(roots, seeds, keep_graph, create_graph, /*accumulate_grad=*/false, ends);
    for (std::size_t i = 0; i < made.size(); ++i) put(places[i], std::move(made[i]));
    return result;
}

}  // namespace rematlas
