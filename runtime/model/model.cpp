#include "runtime/model/model.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>

namespace rematlas {
namespace {

/// Makes a text printable, because a name in a damaged file may contain any bytes: control characters become
/// '?', and bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string text) {
    using nlohmann::json;
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::vector<at::Tensor> Model::forward(const std::vector<at::Tensor>& inputs) {
    std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
    for (const FixedInput& input : fixed) {
        arguments.insert(
            arguments.begin() + static_cast<std::ptrdiff_t>(std::min(input.position, arguments.size())),
            *input.spec.fixed);
    }
    return program->forward(std::move(arguments));
}

std::vector<NamedTensor> Model::trained() const {
    std::vector<NamedTensor> result;
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const NamedTensor& named : tensors) {
        if (named.is_parameter && named.tensor.requires_grad() &&
            seen.insert(named.tensor.unsafeGetTensorImpl()).second) {
            result.push_back(named);
        }
    }
    return result;
}

std::string one_line(const std::exception& error) {
    std::string text = error.what();
    if (const auto* torch_error = dynamic_cast<const c10::Error*>(&error))
        text = torch_error->what_without_backtrace();
    // TorchScript's interpreter prints a traceback, then the cause.
    if (const std::size_t cause = text.rfind("Error: "); cause != text.npos) text = text.substr(cause + 7);
    if (const std::size_t trace = text.find("Exception raised from"); trace != text.npos) text.resize(trace);
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != line.npos)
            return printable(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
    }
    return "unknown error";
}

}  // namespace rematlas
