#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

/// Returns a tensor whose matrices are stored column by column, as LAPACK takes and returns them.
Tensor by_columns(IntArrayRef sizes, const at::TensorOptions& options) {
    Sizes transposed = sizes.vec();
    std::swap(transposed[transposed.size() - 1], transposed[transposed.size() - 2]);
    return at::empty(transposed, options).mT();
}

Tensor sum_of_products(const Tensor&, const Tensor& left, const Tensor& right, const at::Scalar&,
                       const at::Scalar&) {
    return at::empty({left.size(1), right.size(2)}, left.options());
}

Tensor like_by_columns(const Tensor& self) {
    return by_columns(self.sizes(), self.options());
}

Tensor triangular_solution(const Tensor& matrix, const Tensor& right, bool, bool left, bool) {
    const auto batch = [](const Tensor& tensor) { return tensor.sizes().slice(0, tensor.dim() - 2); };
    Sizes sizes = at::infer_size(batch(matrix), batch(right));
    sizes.push_back(right.size(-2));
    sizes.push_back(right.size(-1));
    return left ? by_columns(sizes, right.options()) : at::empty(sizes, right.options());
}

Two orthogonal_triangular(const Tensor& self) {
    Sizes sizes = self.sizes().vec();
    sizes.pop_back();
    sizes.back() = std::min(self.size(-2), self.size(-1));
    return {by_columns(self.sizes(), self.options()), at::empty(sizes, self.options())};
}

/// Returns how many elements of a matrix are on or below the diagonal that is `offset` places above the main
/// diagonal; a negative `offset` means a diagonal below it.
std::int64_t places_below(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
    std::int64_t places = 0;
    for (std::int64_t row = 0; row < rows; ++row)
        places += std::clamp<std::int64_t>(row + offset + 1, 0, columns);
    return places;
}

template <bool upper>
Tensor triangle_places(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                       std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                       std::optional<c10::Device>, std::optional<bool>) {
    const std::int64_t places = upper ? rows * columns - places_below(rows, columns, offset - 1)
                                      : places_below(rows, columns, offset);
    return at::empty({2, places},
                     at::TensorOptions(c10::DeviceType::Meta).dtype(dtype.value_or(c10::ScalarType::Long)));
}

}  // namespace

void add_linear_algebra(Libraries& libraries) {
    add(libraries, "addbmm", &sum_of_products);
    add(libraries, "cholesky_inverse", of_first<like_by_columns, bool>);
    add(libraries, "linalg_solve_triangular", &triangular_solution);
    add(libraries, "linalg_matrix_exp", &contiguous_like);
    add(libraries, "linalg_householder_product", of_first<like_by_columns, const Tensor&>);
    add(libraries, "geqrf", &orthogonal_triangular);
    add(libraries, "tril_indices", &triangle_places<false>);
    add(libraries, "triu_indices", &triangle_places<true>);
}

}  // namespace rematlas::meta
