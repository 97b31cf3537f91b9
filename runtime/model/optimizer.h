// An optimizer's update of a parameter as a fused op of libtorch: the name of the op, its states and its
// numbers.
//
//     Result<Optimizer> adamw = Optimizer::from("adamw", "lr=0.0003,beta2=0.95");
//     adamw->op();         // aten::_fused_adamw_
//     adamw->states();     // exp_avg and exp_avg_sq, with the parameter's layout, and step, a number
//
// Each of these ops updates its parameters one by one, so the results do not depend on how many parameters
// the op is given.
#pragma once

#include <ATen/core/ivalue.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

/// A state of the optimizer, kept for each parameter from step to step.
struct OptimizerState {
    std::string argument;  ///< the op's list argument, e.g. exp_avgs
    std::string name;      ///< name in torch.optim, e.g. exp_avg
    double initial = 0;
    bool counts_steps =
        false;  ///< whether the state is one f32 number, to which 1 is added before the op; else it has the
                ///< parameter's layout
};

struct Optimizer {
    enum class Kind : std::uint8_t { sgd, adam, adamw };

    Kind kind = Kind::sgd;
    double lr = 1e-3;
    double momentum = 0;  ///< for sgd, without dampening
    double weight_decay = 0;
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< for adam and adamw
    bool nesterov = false;                          ///< for sgd
    bool amsgrad = false;                           ///< for adam and adamw
    bool maximize = false;
    bool operator==(const Optimizer&) const = default;

    /// Makes an optimizer. `options`: "lr=0.1,momentum=0.9"; an option that is not given has torch.optim's
    /// default. An error is one line that names the option.
    static Result<Optimizer> from(std::string_view kind, std::string_view options = {});
    std::string_view name() const;

    std::string op() const;
    /// The op's overload that takes the learning rate as a tensor, so that the rate can change from step to
    /// step.
    static constexpr const char* overload = "tensor_lr";
    std::vector<OptimizerState> states() const;
    /// Returns the value of the op's argument `argument`, which is neither a list of tensors nor the learning
    /// rate.
    c10::IValue value_of(std::string_view argument) const;
};

/// Returns {"name": "adamw", "lr": 0.0003, ...} with all options of this kind of optimizer.
nlohmann::json to_json(const Optimizer& optimizer);
Result<Optimizer> optimizer_from_json(const nlohmann::json& json);

}  // namespace rematlas
