#include "runtime/shapes/meta_kernels.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty_like.h>

#include <mutex>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas {
namespace {

c10::DeviceType target = c10::DeviceType::CPU;

/// The dispatch key of Rematlas' shape kernels. PyTorch reserves it for private backends.
constexpr c10::DispatchKey own_key = c10::DispatchKey::PrivateUse3;

}  // namespace

void set_meta_target(c10::DeviceType device) {
    target = device;
}

void register_meta_kernels() {
    static std::once_flag once;
    std::call_once(once, [] {
        static meta::Libraries libraries{
            .own = torch::Library(torch::Library::IMPL, "aten", own_key, __FILE__, __LINE__),
            .meta = torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__)};
        for (const auto add :
             {meta::add_convolutions, meta::add_normalizations, meta::add_images, meta::add_indexing,
              meta::add_reductions, meta::add_elementwise, meta::add_losses, meta::add_attention,
              meta::add_transforms, meta::add_recurrent, meta::add_linear_algebra}) {
            add(libraries);
        }
    });
}

c10::DispatchKey shape_key(const c10::OperatorHandle& op) {
    return op.hasKernelForDispatchKey(own_key) ? own_key : c10::DispatchKey::Meta;
}

namespace meta {

bool target_is_cpu() {
    return target == c10::DeviceType::CPU;
}

Tensor like(const Tensor& input) {
    return at::empty_like(input, input.suggest_memory_format());
}

Tensor preserving(const Tensor& input) {
    return at::empty_like(input);
}

Tensor contiguous_like(const Tensor& input) {
    return at::empty_like(input, at::MemoryFormat::Contiguous);
}

Tensor pointwise(std::initializer_list<Tensor> inputs, std::optional<c10::ScalarType> dtype) {
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false).allow_cpu_scalars(true).add_owned_output(Tensor());
    for (const Tensor& input : inputs) config.add_owned_const_input(input);
    config.declare_static_dtype_and_device(dtype.value_or(inputs.begin()->scalar_type()),
                                           c10::DeviceType::Meta);
    return config.build().output();
}

c10::ScalarType accumulated(c10::ScalarType dtype) {
    return c10::isReducedFloatingType(dtype) ? c10::ScalarType::Float : dtype;
}

bool given(const OptionalTensor& tensor) {
    return tensor && tensor->defined();
}

bool has_meta_kernel(const char* name) {
    const std::string full = std::string("aten::") + name;
    const std::size_t dot = full.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        {full.substr(0, dot), dot == full.npos ? "" : full.substr(dot + 1)});
    return !op || op->hasKernelForDispatchKey(c10::DispatchKey::Meta);
}

}  // namespace meta
}  // namespace rematlas
