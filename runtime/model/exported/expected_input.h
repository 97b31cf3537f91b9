// What a program was exported for: the type and the sizes that an input may have.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/input_spec.h"

namespace rematlas::exported {

/// The least and the largest number that a size of this name may be; every input that has it has the same.
struct NamedSize {
    std::optional<std::int64_t> least, most;
};
using NamedSizes = std::map<std::string, NamedSize>;

/// From the archive's "range_constraints".
NamedSizes named_sizes(const nlohmann::json& constraints);

class ExpectedInput {
  public:
    /// `meta` is the entry of the input in the archive's "tensor_values".
    explicit ExpectedInput(const nlohmann::json& meta);

    /// Throws c10::Error where the tensor has another type or other sizes. `found` has the sizes by name that
    /// inputs before had.
    void check(const at::Tensor& tensor, std::size_t position, const NamedSizes& named,
               std::map<std::string, std::int64_t>& found) const;

    /// The same for sizes that follow from named ones, `2*s`, once all are found. What is more than sums and
    /// products of names and numbers is not looked at.
    void check_derived(const at::Tensor& tensor, std::size_t position,
                       const std::map<std::string, std::int64_t>& found) const;

    /// With the sizes that it had when the program was exported.
    InputSpec spec() const;

  private:
    struct Size {
        std::int64_t exported = 0;
        bool is_fixed = false;
        std::string expression = {};  ///< of a size that may vary
        std::string name = {};        ///< where it is nothing but a name
    };
    std::string text() const;
    [[noreturn]] void refuse(const at::Tensor& tensor, std::size_t position, const std::string& why) const;

    c10::ScalarType dtype_;
    std::vector<Size> sizes_;
};

}  // namespace rematlas::exported
