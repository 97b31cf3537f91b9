// An open forward of a planned step. Nodes of autograd (PartNode) run its backward. Only PlannedStep includes
// this file.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/training/cut_forward.h"
#include "runtime/training/planned_step.h"
#include "runtime/training/shared_outputs.h"

namespace rematlas {

class PlannedStep::Frame {
  public:
    Frame(std::shared_ptr<PlannedStep> step, std::uint64_t number, std::vector<at::Tensor> inputs,
          OriginalForward original, std::int64_t id)
        : step_(std::move(step)),
          inputs_(std::move(inputs)),
          original_(std::move(original)),
          number_(number),
          id_(id) {}
    WrittenInPlace shared_outputs;
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
        step_->executor_.drop(number_);
        if (original_.forget) original_.forget(id_);
    }

    /// Runs a part of the backward. Returns the gradients of the part, in the order of PlannedStep::parts_.
    torch::autograd::variable_list backward(std::size_t part, torch::autograd::variable_list&& gradients);

    at::Tensor link() const { return autograd_link(step_->device_->device()); }

    /// Runs the original's forward from the state in which this forward started. Returns the edges of its
    /// outputs, in the order of PlannedStep::with_history_.
    torch::autograd::edge_list original_edges();

    /// Returns the edges of the original's own graph, in the order of PlannedStep::with_history_; empty
    /// unless the original's backward may run again.
    torch::autograd::edge_list kept_edges() const;

  private:
    /// Begins the backward. Returns those of the given gradients that the plan takes, in the plan's order. If
    /// the plan cannot run this backward, also runs the original, and puts the original's gradients in
    /// `by_original_`.
    torch::autograd::variable_list begin(torch::autograd::variable_list&& gradients);

    torch::autograd::variable_list take(std::size_t part, BackwardPartDone& done);

    /// Notes the memory and the version of a gradient when it is given to autograd. Autograd copies a
    /// gradient whose layout differs from that of its parameter: into memory with the parameter's strides, or
    /// by a clone.
    void note_handed_out(int place, const at::Tensor& gradient);

    /// Increments the version of each updated parameter, so that a graph that has saved the parameter notices
    /// the change. Tells Python that the gradients have been taken, and queues the message that the backward
    /// is over.
    void tell_of_taken();

    std::vector<at::Tensor> forward_of_original(const std::string& why, CutForward* cut);

    /// Puts the gradients of the original in `by_original_`. `parameters`: those that `made` is about.
    void take_original(CutForward::Gradients made, std::size_t parameters);

    /// Computes all gradients with the original, from the state in which this forward started.
    void run_original(const std::string& why, bool keep_graph, bool create_graph);

    /// Adds a gradient of the original to `.grad`. This is needed for a gradient that the plan neither
    /// returns nor uses up, because no edge of the chain leads to its parameter.
    void accumulate(std::size_t place);

    std::shared_ptr<PlannedStep> step_;
    std::vector<at::Tensor> inputs_;
    OriginalForward original_;
    std::uint64_t number_;
    std::int64_t id_;
    bool begun_ = false;
    torch::autograd::variable_list given_;  ///< gradients of the outputs, while the original may need them
    /// The terms of all gradients by position, if the original had to run; else empty.
    std::vector<torch::autograd::variable_list> by_original_;
    std::unique_ptr<CutForward> kept_;  ///< the original's own graph, while its backward may run again
    std::vector<int> kept_places_;
    std::vector<bool> freed_;  ///< per output in `kept_places_`: whether its backward has freed its graph
};

/// The node of a part of the backward. The nodes of one forward form a chain.
class PlannedStep::PartNode final : public WeaklyKnownNode {
  public:
    PartNode(std::shared_ptr<Frame> frame, std::size_t part) : frame_(std::move(frame)), part_(part) {}
    std::string name() const override { return "RematlasBackward" + std::to_string(part_); }
    void release_variables() override {
        if (ran_) frame_ = nullptr;
    }
    torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;

    /// Runs the original's forward now, and makes gradients go to the original's own graph. Does nothing if
    /// the backward has begun.
    void pass_on() {
        if (ran_ || passes_on_ || !frame_) return;
        pass_on(frame_->original_edges());
    }

    /// Makes gradients go to these edges of an original's own graph that exists already.
    void pass_on(const torch::autograd::edge_list& to) {
        // Autograd still runs the nodes in a valid order, because only this node leads to the nodes behind
        // it.
        next_edges_ = to;
        passes_on_ = true;
        frame_ = nullptr;
    }

  private:
    void let_go() override { frame_ = nullptr; }

    std::shared_ptr<Frame> frame_;
    std::size_t part_;
    bool ran_ = false, passes_on_ = false;
};

}  // namespace rematlas
