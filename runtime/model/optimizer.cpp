#include "runtime/model/optimizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/numbers.h"

namespace rematlas {
namespace {

using Kind = Optimizer::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 3> kinds{
    {{Kind::sgd, "sgd"}, {Kind::adam, "adam"}, {Kind::adamw, "adamw"}}};

enum class For : std::uint8_t { all, sgd, adam };

struct Number {
    std::string_view name;
    double Optimizer::*member;
    For of;
    bool below_one = false;  ///< the number must be below 1; all numbers are at least 0
};
constexpr std::array<Number, 6> numbers{{{"lr", &Optimizer::lr, For::all},
                                         {"momentum", &Optimizer::momentum, For::sgd},
                                         {"weight_decay", &Optimizer::weight_decay, For::all},
                                         {"beta1", &Optimizer::beta1, For::adam, true},
                                         {"beta2", &Optimizer::beta2, For::adam, true},
                                         {"eps", &Optimizer::eps, For::adam}}};

struct Switch {
    std::string_view name;
    bool Optimizer::*member;
    For of;
};
constexpr std::array<Switch, 3> switches{{{"nesterov", &Optimizer::nesterov, For::sgd},
                                          {"amsgrad", &Optimizer::amsgrad, For::adam},
                                          {"maximize", &Optimizer::maximize, For::all}}};

bool has(Kind kind, For of) {
    return of == For::all || (of == For::sgd) == (kind == Kind::sgd);
}

std::string options_of(Kind kind) {
    std::string names;
    const auto add = [&](std::string_view name) { (names += names.empty() ? "" : ", ") += name; };
    for (const Number& number : numbers)
        if (has(kind, number.of)) add(number.name);
    for (const Switch& one : switches)
        if (has(kind, one.of)) add(one.name);
    return names;
}

Result<void> set(Optimizer& optimizer, std::string_view option, double value) {
    const auto fail = [&](const std::string& why) { return Error{std::string(option) + ": " + why}; };
    for (const Number& number : numbers) {
        if (number.name != option || !has(optimizer.kind, number.of)) continue;
        if (!(value >= 0) || (number.below_one && value >= 1))
            return fail(number.below_one ? "expected a number from 0 to below 1" : "expected at least 0");
        optimizer.*number.member = value;
        return {};
    }
    for (const Switch& one : switches) {
        if (one.name != option || !has(optimizer.kind, one.of)) continue;
        if (value != 0 && value != 1) return fail("expected 0 or 1");
        optimizer.*one.member = value == 1;
        return {};
    }
    return fail(std::string(optimizer.name()) + " has the options " + options_of(optimizer.kind));
}

Result<Optimizer> checked(Optimizer optimizer) {
    if (optimizer.nesterov && optimizer.momentum == 0) return Error{"nesterov: needs a momentum"};
    return optimizer;
}

Result<Optimizer> of_kind(std::string_view name) {
    const auto* found =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.second == name; });
    if (found == kinds.end()) return Error{std::string(name) + ": expected sgd, adam or adamw"};
    Optimizer optimizer{.kind = found->first};
    if (optimizer.kind == Kind::adamw) optimizer.weight_decay = 1e-2;
    return optimizer;
}

}  // namespace

Result<Optimizer> Optimizer::from(std::string_view kind, std::string_view options) {
    Result<Optimizer> optimizer = of_kind(kind);
    if (!optimizer) return optimizer.error();
    while (!options.empty()) {
        const std::string_view item = options.substr(0, options.find(','));
        options.remove_prefix(std::min(options.size(), item.size() + 1));
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string_view text = item.substr(std::min(equals + 1, item.size()));
        const auto value = number_from<double>(text);
        if (!value) return Error{std::string(item) + ": expected option=number"};
        if (Result<void> done = set(*optimizer, item.substr(0, equals), *value); !done) return done.error();
    }
    return checked(*optimizer);
}

std::string_view Optimizer::name() const {
    return kinds[static_cast<std::size_t>(kind)].second;
}

std::string Optimizer::op() const {
    return "aten::_fused_" + std::string(name()) + "_";
}

/// The momentum begins with negative zeros. In the first step torch.optim takes the gradient as the momentum;
/// adding the gradient to negative zeros gives the same bits, even for the sign of a zero.
std::vector<OptimizerState> Optimizer::states() const {
    if (kind == Kind::sgd) {
        if (momentum == 0) return {};
        return {{.argument = "momentum_buffer_list", .name = "momentum_buffer", .initial = -0.0}};
    }
    std::vector<OptimizerState> states{{.argument = "exp_avgs", .name = "exp_avg"},
                                       {.argument = "exp_avg_sqs", .name = "exp_avg_sq"}};
    if (amsgrad) states.push_back({.argument = "max_exp_avg_sqs", .name = "max_exp_avg_sq"});
    states.push_back({.argument = "state_steps", .name = "step", .counts_steps = true});
    return states;
}

c10::IValue Optimizer::value_of(std::string_view argument) const {
    for (const Number& number : numbers)
        if (number.name == argument) return this->*number.member;
    for (const Switch& one : switches)
        if (one.name == argument) return this->*one.member;
    if (argument == "dampening") return 0.0;
    if (argument == "is_first_step") return false;
    return {};
}

nlohmann::json to_json(const Optimizer& optimizer) {
    nlohmann::json item = {{"name", optimizer.name()}};
    for (const Number& number : numbers)
        if (has(optimizer.kind, number.of)) item[std::string(number.name)] = optimizer.*number.member;
    for (const Switch& one : switches)
        if (has(optimizer.kind, one.of)) item[std::string(one.name)] = optimizer.*one.member;
    return item;
}

Result<Optimizer> optimizer_from_json(const nlohmann::json& json) {
    Result<Optimizer> optimizer = of_kind(json.value("name", ""));
    if (!optimizer) return optimizer.error();
    for (const auto& [option, value] : json.items()) {
        if (option == "name") continue;
        if (!value.is_number() && !value.is_boolean()) return Error{option + ": expected a number"};
        const double number = value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
        if (Result<void> done = set(*optimizer, option, number); !done) return done.error();
    }
    return checked(*optimizer);
}

}  // namespace rematlas
