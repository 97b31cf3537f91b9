#include "runtime/model/exported/expected_input.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/model/exported/enumerations.h"

namespace rematlas::exported {
namespace {

/// Returns `s77` for "Symbol('s77', positive=True, integer=True)", and an empty text for any other
/// expression.
std::string name_in(const std::string& expression) {
    constexpr std::string_view opening = "Symbol('";
    if (!expression.starts_with(opening)) return {};
    const std::size_t end = expression.find('\'', opening.size());
    if (end == expression.npos || expression.find(')') != expression.size() - 1) return {};
    return expression.substr(opening.size(), end - opening.size());
}

/// Computes the value of "Add(Mul(Integer(2), Symbol('s77', positive=True)), Integer(1))". Returns nothing if
/// the text has other functions, a name that is not found, or a value that does not fit into 64 bits.
class SizeExpression {
  public:
    SizeExpression(std::string_view text, const std::map<std::string, std::int64_t>& found)
        : text_(text), found_(found) {}
    std::optional<std::int64_t> value() {
        const std::optional<std::int64_t> result = term(0);
        return at_ == text_.size() ? result : std::nullopt;
    }

  private:
    std::string_view up_to(char end) {
        const std::size_t begin = at_;
        at_ = std::min(text_.find(end, begin), text_.size());
        const std::string_view part = text_.substr(begin, at_ - begin);
        at_ = std::min(at_ + 1, text_.size());
        return part;
    }
    std::optional<std::int64_t> term(int depth) {
        const std::string_view function = up_to('(');
        if (depth > 50) return std::nullopt;
        if (function == "Integer") {
            const std::string digits(up_to(')'));
            return digits.empty() ? std::nullopt
                                  : std::optional<std::int64_t>(std::strtoll(digits.c_str(), nullptr, 10));
        }
        if (function == "Symbol") {
            up_to('\'');
            const auto size = found_.find(std::string(up_to('\'')));
            up_to(')');
            return size == found_.end() ? std::nullopt : std::optional(size->second);
        }
        if (function != "Add" && function != "Mul") return std::nullopt;
        std::int64_t total = function == "Add" ? 0 : 1;
        for (;;) {
            const std::optional<std::int64_t> operand = term(depth + 1);
            const bool overflow =
                !operand || (function == "Add" ? __builtin_add_overflow(total, *operand, &total)
                                               : __builtin_mul_overflow(total, *operand, &total));
            if (overflow || at_ >= text_.size()) return std::nullopt;
            if (text_[at_++] == ')') return total;
            if (at_ < text_.size() && text_[at_] == ' ') ++at_;
        }
    }

    std::string_view text_;
    const std::map<std::string, std::int64_t>& found_;
    std::size_t at_ = 0;
};

std::optional<std::int64_t> bound(const nlohmann::json& range, const char* name) {
    const auto found = range.find(name);
    return found == range.end() || !found->is_number_integer() ? std::nullopt
                                                               : std::optional(found->get<std::int64_t>());
}

}  // namespace

NamedSizes named_sizes(const nlohmann::json& constraints) {
    NamedSizes result;
    for (const auto& [name, range] : constraints.items())
        result[name] = {bound(range, "min_val"), bound(range, "max_val")};
    return result;
}

ExpectedInput::ExpectedInput(const nlohmann::json& meta) : dtype_(scalar_type(meta.at("dtype").get<int>())) {
    for (const nlohmann::json& size : meta.at("sizes")) {
        if (const auto number = size.find("as_int"); number != size.end()) {
            sizes_.push_back({.exported = number->get<std::int64_t>(), .is_fixed = true});
        } else {
            const nlohmann::json &expression = size.at("as_expr"), &hint = expression.at("hint");
            sizes_.push_back({.exported = hint.is_object() ? hint.at("as_int").get<std::int64_t>() : 1,
                              .expression = expression.at("expr_str").get<std::string>(),
                              .name = name_in(expression.at("expr_str").get<std::string>())});
        }
    }
}

std::string ExpectedInput::text() const {
    std::string text = std::string(dtype_name(dtype_)) + "[";
    for (const Size& size : sizes_) {
        if (text.back() != '[') text += ",";
        text += size.is_fixed ? std::to_string(size.exported) : size.name.empty() ? "?" : size.name;
    }
    return text + "]";
}

InputSpec ExpectedInput::spec() const {
    InputSpec spec{.dtype = dtype_, .sizes = {}, .bound = std::nullopt};
    for (const Size& size : sizes_) spec.sizes.push_back(size.exported);
    return spec;
}

void ExpectedInput::refuse(const at::Tensor& tensor, std::size_t position, const std::string& why) const {
    const InputSpec given{.dtype = tensor.scalar_type(), .sizes = tensor.sizes().vec(), .bound = {}};
    TORCH_CHECK(false, "input ", position + 1, " is ", to_string(given),
                ", and the program was exported for ", text(), why);
}

void ExpectedInput::check(const at::Tensor& tensor, std::size_t position, const NamedSizes& named,
                          std::map<std::string, std::int64_t>& found) const {
    if (tensor.scalar_type() != dtype_ || tensor.dim() != static_cast<std::int64_t>(sizes_.size()))
        refuse(tensor, position, "");
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
        const std::int64_t size = tensor.sizes()[d];
        if (sizes_[d].is_fixed && size != sizes_[d].exported) refuse(tensor, position, "");
        const std::string& name = sizes_[d].name;
        if (name.empty()) continue;
        if (const auto [entry, added] = found.emplace(name, size); !added && entry->second != size)
            refuse(tensor, position,
                   ", where " + name + " is " + std::to_string(entry->second) + " in an input before");
        const auto range = named.find(name);
        if (range == named.end()) continue;
        if (range->second.least && size < *range->second.least)
            refuse(tensor, position,
                   ", where " + name + " is at least " + std::to_string(*range->second.least));
        if (range->second.most && size > *range->second.most)
            refuse(tensor, position,
                   ", where " + name + " is at most " + std::to_string(*range->second.most));
    }
}

void ExpectedInput::check_derived(const at::Tensor& tensor, std::size_t position,
                                  const std::map<std::string, std::int64_t>& found) const {
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
        if (sizes_[d].is_fixed || !sizes_[d].name.empty()) continue;
        const auto value = SizeExpression(sizes_[d].expression, found).value();
        if (value && *value != tensor.sizes()[d])
            refuse(tensor, position,
                   ", where the size of dimension " + std::to_string(d) + " follows from others and is " +
                       std::to_string(*value));
    }
}

}  // namespace rematlas::exported
