// The dtype and the sizes that an exported program accepts for an input.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/input_spec.h"

namespace rematlas::exported {

/// The least and the largest value of a named size. All sizes of the same name must be equal.
struct NamedSize {
    std::optional<std::int64_t> least, most;
};
using NamedSizes = std::map<std::string, NamedSize>;

/// Reads the archive's "range_constraints".
NamedSizes named_sizes(const nlohmann::json& constraints);

class ExpectedInput {
  public:
    /// `meta` is the entry of the input in the archive's "tensor_values".
    explicit ExpectedInput(const nlohmann::json& meta);

    /// Throws c10::Error if the tensor has another dtype or other sizes. `found`: the sizes of earlier
    /// inputs, by name; the named sizes of this input are added.
    void check(const at::Tensor& tensor, std::size_t position, const NamedSizes& named,
               std::map<std::string, std::int64_t>& found) const;

    /// Checks the sizes that follow from named sizes, such as `2*s`, and throws as `check` does. Must be
    /// called only after all names have been found. Only sums and products of names and numbers are checked,
    /// no other expressions.
    void check_derived(const at::Tensor& tensor, std::size_t position,
                       const std::map<std::string, std::int64_t>& found) const;

    /// Returns the input with the sizes that it had when the program was exported.
    InputSpec spec() const;

  private:
    struct Size {
        std::int64_t exported = 0;
        bool is_fixed = false;
        std::string expression = {};  ///< expression of a size that can vary
        std::string name = {};        ///< name of the size, if the expression is only a name
    };
    std::string text() const;
    [[noreturn]] void refuse(const at::Tensor& tensor, std::size_t position, const std::string& why) const;

    c10::ScalarType dtype_;
    std::vector<Size> sizes_;
};

}  // namespace rematlas::exported
