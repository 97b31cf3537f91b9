// Texts of a model's inputs with the letter B in place of the batch: "f32[B,3,224,224]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// Says whether a dimension of the input is B.
bool has_batch(std::string_view input);

/// Returns the input with the number `batch` in place of each dimension B.
std::string at_batch(std::string_view input, std::int64_t batch);

/// Inputs with the letter B in place of the batch. The batch is a guess that users may correct: it is the
/// first dimension of the first tensor, and of every other tensor whose first dimension is the same number.
struct BatchInputs {
    std::vector<std::string> inputs;
    std::int64_t batch = 0;  ///< the number that the letter B stands for
};

/// Puts the letter in place of the batch. Returns nothing if no input is a tensor with a dimension.
std::optional<BatchInputs> with_batch_letter(const std::vector<std::string>& inputs);

}  // namespace rematlas
