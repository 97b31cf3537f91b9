// A module that trains by a plan file. The plan runs forward and backward; the caller has the parameters,
// buffers, losses and optimizers, and uses autograd as usual.
//
//     torch::jit::Module model = torch::jit::load("gpt.pt");
//     model.train();                                  // named_tensors: runtime/model/torchscript.h
//     Result<ScheduledModule> scheduled = ScheduledModule::load("gpt.plan", named_tensors(model), "gpt.pt");
//     for (auto [ids, targets] : batches) {
//         at::Tensor logits = scheduled->forward({ids}).take().front();
//         at::Tensor loss = at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
//         loss.backward();                            // gradients are in .grad() of the model's parameters
//         optimizer.step(), optimizer.zero_grad();
//     }
//
// Outputs, gradients, buffers and the generator change as in the original, bit by bit. This requires that the
// gradients from the loss have the layout in memory that they had when the step was captured; otherwise the
// backward fails. For evaluation run the original module. Threads: forward and backward of one module must
// not run at the same time; autograd may run the backward on its own thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/training/planned_step.h"

namespace rematlas {

class ScheduledModule {
  public:
    /// `tensors` are the caller's own; errors begin with `owner`. `device`: the device of the tensors, cpu or
    /// cuda. Memory is measured from this call on: host tensors that were made before the first call in a
    /// process are not counted. Fails if there is no plan, or if the schedule is not valid or belongs to
    /// another graph. Fails if a tensor differs from the captured model's in name, shape, type, device or
    /// memory layout.
    static Result<ScheduledModule> load(const std::filesystem::path& plan,
                                        const std::vector<NamedTensor>& tensors, const std::string& owner,
                                        const std::string& device = "cpu");

    /// Returns the outputs in the order in which the captured model returned them, with tuples, lists and
    /// dictionaries flattened. Fails if the inputs differ from the plan's in number, shape, type, device or
    /// layout; if an input or parameter requires a gradient that the plan does not make; or if gradients are
    /// switched off. Backward throws c10::Error.
    Result<std::vector<at::Tensor>> forward(const std::vector<at::Tensor>& inputs);

    Bytes predicted_peak() const { return step_->schedule().peak; }
    Bytes budget() const { return step_->schedule().budget; }
    int threads() const { return step_->tape().threads; }  ///< number of threads that the plan was made for
    /// Returns the peak of the last step, including residents, but not tensors that the caller held beside
    /// the step. Before the step's backward it is the peak so far. Returns nothing on a device where
    /// measuring would change statistics that the caller sees.
    std::optional<Bytes> last_peak() const { return step_->last_peak; }

  private:
    ScheduledModule(std::shared_ptr<PlannedStep> step, std::vector<at::Tensor> tensors,
                    std::vector<NamedTensor> frozen)
        : step_(std::move(step)), tensors_(std::move(tensors)), frozen_(std::move(frozen)) {}
    Result<void> check_gradients(const std::vector<at::Tensor>& inputs) const;

    std::shared_ptr<PlannedStep> step_;
    std::vector<at::Tensor> tensors_;  ///< tensors in the order of the plan's bindings
    std::vector<NamedTensor> frozen_;  ///< parameters for which the plan makes no gradient
};

}  // namespace rematlas
