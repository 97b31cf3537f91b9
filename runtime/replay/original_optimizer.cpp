#include "runtime/replay/original_optimizer.h"

#include <map>

namespace rematlas {
namespace {

/// Returns the positions of the parameters that the step updates. For an optimizer without states these are
/// all parameters, because it skips parameters without a gradient anyway.
std::vector<std::size_t> updated(const Model& model, const Tape& tape) {
    const std::vector<OptimizerState> kept = tape.optimizer->states();
    std::set<std::string> names;
    for (const StateTensor& state : tape.states) names.insert(state.name);
    std::vector<std::size_t> places;
    const std::vector<NamedTensor> trained = model.trained();
    for (std::size_t i = 0; i < trained.size(); ++i)
        if (kept.empty() || names.contains(trained[i].name + "." + kept.front().name)) places.push_back(i);
    return places;
}

std::vector<at::Tensor> tensors_at(const Model& model, const std::vector<std::size_t>& places) {
    const std::vector<NamedTensor> trained = model.trained();
    std::vector<at::Tensor> tensors;
    for (const std::size_t place : places) tensors.push_back(trained[place].tensor);
    return tensors;
}

}  // namespace

OriginalOptimizer::OriginalOptimizer(const Model& model, const Tape& tape,
                                     const std::set<std::string>& on_host)
    : trained_(updated(model, tape)), optimizer_(*tape.optimizer, tensors_at(model, trained_)) {
    const std::vector<NamedTensor> trained = model.trained();
    const std::vector<OptimizerState> kept = tape.optimizer->states();
    std::map<std::string, at::Tensor> by_name{{"lr", optimizer_.lr()}};
    for (std::size_t i = 0; i < trained_.size(); ++i)
        if (on_host.contains(trained[trained_[i]].name)) optimizer_.update_on_host(i);
    for (std::size_t i = 0; i < trained_.size(); ++i)
        for (std::size_t s = 0; s < kept.size(); ++s)
            by_name[trained[trained_[i]].name + "." + kept[s].name] = optimizer_.states(i)[s];
    for (const StateTensor& state : tape.states) states_.push_back(by_name[state.name]);
}

void OriginalOptimizer::update(std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> of_updated;
    for (const std::size_t place : trained_) of_updated.push_back(gradients[place]);
    optimizer_.step(of_updated);
    for (at::Tensor& gradient : gradients) gradient = at::Tensor();
}

}  // namespace rematlas
