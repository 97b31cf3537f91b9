#include "core/planning/batch_inputs.h"

#include <charconv>

namespace rematlas {
namespace {

/// Returns the index of the first dimension B at or after `at`; npos if there is none.
std::size_t find_letter(std::string_view input, std::size_t at) {
    for (std::size_t i = input.find('B', at); i != std::string_view::npos; i = input.find('B', i + 1)) {
        const bool begins = i > 0 && (input[i - 1] == '[' || input[i - 1] == ',');
        const bool ends = i + 1 < input.size() && (input[i + 1] == ',' || input[i + 1] == ']');
        if (begins && ends) return i;
    }
    return std::string_view::npos;
}

/// The size of the first dimension, and the range of its characters in the text.
struct FirstDimension {
    std::int64_t size = 0;
    std::size_t begin = 0, end = 0;
};

std::optional<FirstDimension> first_dimension(std::string_view input) {
    const std::size_t bracket = input.find('[');
    if (bracket == std::string_view::npos) return std::nullopt;
    FirstDimension found{.size = 0, .begin = bracket + 1, .end = 0};
    const char* begin = input.data() + found.begin;
    const auto [end, failure] = std::from_chars(begin, input.data() + input.size(), found.size);
    if (failure != std::errc() || found.size < 1) return std::nullopt;
    found.end = found.begin + static_cast<std::size_t>(end - begin);
    return found;
}

}  // namespace

bool has_batch(std::string_view input) {
    return find_letter(input, 0) != std::string_view::npos;
}

std::string at_batch(std::string_view input, std::int64_t batch) {
    std::string text;
    std::size_t done = 0;
    for (std::size_t at = find_letter(input, 0); at != std::string_view::npos;
         at = find_letter(input, done)) {
        text += input.substr(done, at - done);
        text += std::to_string(batch);
        done = at + 1;
    }
    return text += input.substr(done);
}

std::optional<BatchInputs> with_batch_letter(const std::vector<std::string>& inputs) {
    BatchInputs found{.inputs = inputs, .batch = 0};
    for (std::string& input : found.inputs) {
        const std::optional<FirstDimension> first = first_dimension(input);
        if (!first) continue;
        if (found.batch == 0) found.batch = first->size;
        if (first->size == found.batch) input.replace(first->begin, first->end - first->begin, "B");
    }
    return found.batch > 0 ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace rematlas
