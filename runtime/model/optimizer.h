// What an optimizer does to a parameter, in the words of libtorch's fused ops: which op, on which states, with
// which numbers.
//
//     Result<Optimizer> adamw = Optimizer::from("adamw", "lr=0.0003,beta2=0.95");
//     adamw->op();         // aten::_fused_adamw_
//     adamw->states();     // exp_avg and exp_avg_sq, which lie as the parameter does, and step, a number
//
// Each of these ops updates parameters one by one, so that the bits do not depend on how many it is given.
#pragma once

#include <ATen/core/ivalue.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

/// What is kept of each parameter from step to step.
struct OptimizerState {
    std::string argument;  ///< of the op, a list: exp_avgs
    std::string name;      ///< as torch.optim has it: exp_avg
    double initial = 0;
    bool counts_steps =
        false;  ///< one f32 number, which goes up before the op; else it lies as the parameter
};

struct Optimizer {
    enum class Kind : std::uint8_t { sgd, adam, adamw };

    Kind kind = Kind::sgd;
    double lr = 1e-3;
    double momentum = 0;  ///< of sgd, without dampening
    double weight_decay = 0;
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< of adam and adamw
    bool nesterov = false;                          ///< of sgd
    bool amsgrad = false;                           ///< of adam and adamw
    bool maximize = false;
    bool operator==(const Optimizer&) const = default;

    /// `options`: "lr=0.1,momentum=0.9"; what is not given is as in torch.optim. Errors: one line that names
    /// the option.
    static Result<Optimizer> from(std::string_view kind, std::string_view options = {});
    std::string_view name() const;

    std::string op() const;
    /// Of its forms the one that reads the learning rate from a tensor, so that no schedule of rates is baked
    /// in.
    static constexpr const char* overload = "tensor_lr";
    std::vector<OptimizerState> states() const;
    /// Of an argument of the op that is neither a list of tensors nor the learning rate.
    c10::IValue value_of(std::string_view argument) const;
};

/// {"name": "adamw", "lr": 0.0003, ...}, with all options that the optimizer has.
nlohmann::json to_json(const Optimizer& optimizer);
Result<Optimizer> optimizer_from_json(const nlohmann::json& json);

}  // namespace rematlas
