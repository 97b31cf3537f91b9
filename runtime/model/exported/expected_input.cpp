#include "runtime/model/exported/expected_input.h"

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>

#include "runtime/model/exported/enumerations.h"

namespace rematlas::exported {
namespace {

/// `s77` of "Symbol('s77', positive=True, integer=True)"; empty for any other expression.
std::string name_in(const std::string& expression) {
    constexpr std::string_view opening = "Symbol('";
    if (!expression.starts_with(opening)) return {};
    const std::size_t end = expression.find('\'', opening.size());
    if (end == expression.npos || expression.find(')') != expression.size() - 1) return {};
    return expression.substr(opening.size(), end - opening.size());
}

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

void ExpectedInput::check(const at::Tensor& tensor, std::size_t position, const NamedSizes& named,
                          std::map<std::string, std::int64_t>& found) const {
    const auto refuse = [&](const std::string& why) {
        TORCH_CHECK(
            false, "input ", position + 1, " is ",
            to_string(InputSpec{.dtype = tensor.scalar_type(), .sizes = tensor.sizes().vec(), .bound = {}}),
            ", and the program was exported for ", text(), why);
    };
    if (tensor.scalar_type() != dtype_ || tensor.dim() != static_cast<std::int64_t>(sizes_.size()))
        refuse("");
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
        const std::int64_t size = tensor.sizes()[d];
        if (sizes_[d].is_fixed && size != sizes_[d].exported) refuse("");
        const std::string& name = sizes_[d].name;
        if (name.empty()) continue;
        if (const auto [entry, added] = found.emplace(name, size); !added && entry->second != size)
            refuse(", where " + name + " is " + std::to_string(entry->second) + " in an input before");
        const auto range = named.find(name);
        if (range == named.end()) continue;
        if (range->second.least && size < *range->second.least)
            refuse(", where " + name + " is at least " + std::to_string(*range->second.least));
        if (range->second.most && size > *range->second.most)
            refuse(", where " + name + " is at most " + std::to_string(*range->second.most));
    }
}

}  // namespace rematlas::exported
