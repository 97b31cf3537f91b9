// torch.classes.rematlas and torch.ops.rematlas: the classes and ops on which the Python package is built.
//
//     torch.ops.load_library("librematlas_training.so")
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/base/sizes.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/link_profile.h"
#include "core/planning/config.h"
#include "core/planning/registry.h"
#include "runtime/allocator/arena.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/device/host_tensors.h"
#include "runtime/replay/compare.h"
#include "runtime/shapes/cuda_stand_in.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/torch_versions/own_key.h"
#include "runtime/training/bindings.h"
#include "runtime/training/cut_forward.h"
#include "runtime/training/within_eviction.h"
#include "runtime/verify/paired_run.h"

namespace rematlas {

std::vector<NamedTensor> paired(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
                                std::int64_t parameters) {
    TORCH_CHECK(names.size() == tensors.size(), "rematlas: ", names.size(), " names for ", tensors.size(),
                " tensors");
    std::vector<NamedTensor> pairs;
    for (std::size_t i = 0; i < names.size(); ++i)
        pairs.push_back({names[i], tensors[i], static_cast<std::int64_t>(i) < parameters});
    return pairs;
}

Copies copies_from(const std::string& text) {
    if (text.empty()) return {};
    const nlohmann::json item = nlohmann::json::parse(text);
    const std::string name = item.at("offload").get<std::string>();
    const std::optional<Offload> what = offload_from(name);
    TORCH_CHECK(what, "rematlas: offload is '", name, "'; expected none, activations, weights or all");
    Copies copies{.what = *what, .in_training = item.value("in_training", true)};
    if (item.contains("links")) copies.links = or_throw(links_named(item.at("links").get<std::string>()));
    if (item.contains("host_budget"))
        copies.host_budget = or_throw(parse_bytes(item.at("host_budget").get<std::string>()));
    return copies;
}

namespace {

using nlohmann::json;

/// Makes a storage on the device with the size of the tensor's storage. The new storage holds the tensor's
/// values if the tensor has values and its storage has at most `largest_kept` bytes.
c10::Storage twin_storage(const at::Tensor& tensor, std::int64_t largest_kept, const DeviceRuntime& device) {
    const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
    // The whole storage is copied, because the tensor may be a view of a part of it.
    if (bytes > largest_kept || !has_data(tensor))
        return shape_tensor({bytes}, c10::ScalarType::Byte, device.device()).storage();
    at::Tensor whole = at::empty({0}, tensor.options().dtype(c10::ScalarType::Byte));
    whole.set_(tensor.storage(), 0, {bytes}, {1});
    whole = whole.clone();
    return device.profile_if_absent() ? relabelled(whole.storage(), device.device()) : whole.storage();
}

std::vector<at::Tensor> shapes_like(const std::vector<at::Tensor>& tensors, std::int64_t largest_kept,
                                    const std::string& device_name) {
    const at::NoGradGuard no_grad;
    const std::shared_ptr<DeviceRuntime> device = open_device_named(device_name);
    std::map<const c10::StorageImpl*, c10::Storage> twins;
    std::vector<at::Tensor> result;
    for (const at::Tensor& tensor : tensors) {
        c10::Storage& twin = twins[tensor.storage().unsafeGetStorageImpl()];
        if (!twin) twin = twin_storage(tensor, largest_kept, *device);
        result.push_back(tensor_on(twin, tensor));
    }
    return result;
}

const bool counting = [] {
    CountingAllocator::install(CountingAllocator::Heap::callers);
    return true;
}();

/// Waits until autograd's thread of the device has dropped all tensors that earlier backwards left in the
/// thread. A backward returns before its thread frees the gradients that it passed on. To free a tensor that
/// Python knows, the thread takes Python's lock; if Python is shutting down by then, libtorch ends the
/// process. The backward that this function runs comes after the earlier backwards in the thread's queue, and
/// Python knows none of its tensors.
void wait_for_autograd(const std::string& device) {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = at::zeros({}, at::TensorOptions(c10::Device(device))).requires_grad_();
    leaf.mul(1).backward();
}

}  // namespace

/// Defines the ops for absent devices.
void define_ops_of_shapes(torch::Library& library) {
    // Makes shape tensors of the device, which share storages as `tensors` do. Tensors whose storage has at
    // most `largest_kept` bytes keep their values.
    library.def("shapes_like(Tensor[] tensors, int largest_kept, str device) -> Tensor[]", &shapes_like);
    library.def("device_profiles() -> str", [] { return json(names_of(builtin_profiles())).dump(); });
    // Returns facts of a device's profile, as JSON.
    library.def("device_facts(str profile) -> str", [](const std::string& name) {
        const DeviceProfile profile = or_throw(device_profile(name));
        return json{{"id", profile.id},
                    {"name", profile.name},
                    {"kind", profile.kind},
                    {"memory_bytes", profile.memory.value},
                    {"capability", profile.capability}}
            .dump();
    });
    library.def("check_host_profile(str name) -> ()",
                [](const std::string& name) { or_throw(host_profile(name)); });
    // Makes libtorch believe that the device of this profile is present, until the op is called with an
    // empty name.
    library.def("stand_in_for(str profile) -> ()", [](const std::string& name) {
        if (name.empty())
            stop_standing_in();
        else
            stand_in_for_cuda(or_throw(device_profile(name)));
    });
}

void define_ops_of_autograd(torch::Library& library) {
    // Makes autograd expect gradients of this size for the tensor, which must have a history. Without `type`
    // autograd accepts gradients of any type; otherwise it casts them to `type`.
    library.def("expect_gradient(Tensor of, int[] size, ScalarType? type) -> ()",
                [](const at::Tensor& of, c10::IntArrayRef size, std::optional<c10::ScalarType> type) {
                    torch::autograd::InputMetadata& expected =
                        of.grad_fn()->mutable_input_metadata(of.output_nr());
                    expected.set_grad_dtype(type);
                    auto& shape = expected.mutable_shape_as_dim_vector();
                    shape.clear();
                    for (const std::int64_t extent : size) shape.emplace_back(extent);
                });
    // Returns a tensor without memory that has the history of `of`, and that no recording sees.
    library.def("history_of(Tensor of) -> Tensor", [](const at::Tensor& of) {
        const at::Tensor made = autograd_link(c10::kCPU);
        torch::autograd::impl::set_gradient_edge(made, torch::autograd::impl::gradient_edge(of));
        return made;
    });
    // Gives `to` the history that `history_of` has returned: gradients of `to` flow where those of `of` flow.
    library.def(
        "take_history(Tensor to, Tensor history) -> ()", [](const at::Tensor& to, const at::Tensor& history) {
            torch::autograd::impl::set_gradient_edge(to, torch::autograd::impl::gradient_edge(history));
        });
    library.def("wait_for_autograd(str device) -> ()", &wait_for_autograd);
}

void define_ops(torch::Library& library) {
    using Tensors = std::vector<at::Tensor>;
    library.def("beside(Tensor[] tensors, Tensor[] inputs, str device) -> int",
                [](const Tensors& tensors, const Tensors& inputs, const std::string& device) {
                    std::vector<NamedTensor> named;
                    for (const at::Tensor& tensor : tensors) named.push_back({"", tensor, true});
                    DeviceRuntime& runtime = *open_device_named(device);
                    runtime.prepare();
                    return memory_without_eviction(runtime).alive_bytes() -
                           counted_residents(named, inputs, runtime);
                });
    library.def("hands_out_larger_blocks(str device) -> bool", [](const std::string& device) {
        constexpr std::int64_t large = std::int64_t{2} << 20;
        const DeviceRuntime& runtime = *open_device_named(device);
        return runtime.most_footprint(large) > runtime.footprint(large);
    });
    // Casts as an op that autocasts to `type` does: takes the cast from the cache of the autocast region if
    // the cache has it.
    library.def("cached_cast(Tensor tensor, ScalarType type) -> Tensor",
                [](const at::Tensor& tensor, c10::ScalarType type) {
                    return at::autocast::cached_cast(type, tensor, tensor.device().type());
                });
    library.def(
        "identical(Tensor?[] a, Tensor?[] b) -> bool",
        [](const c10::List<std::optional<at::Tensor>>& a, const c10::List<std::optional<at::Tensor>>& b) {
            const auto tensors = [](const c10::List<std::optional<at::Tensor>>& list) {
                Tensors plain;
                for (const std::optional<at::Tensor>& tensor : list)
                    plain.push_back(tensor.value_or(at::Tensor()));
                return plain;
            };
            return identical(tensors(a), tensors(b));
        });
    // Returns the result of `mismatch_of` in runtime/verify/paired_run.h. Peaks and budget are in bytes.
    library.def(
        "mismatch_of(*, bool outputs, bool gradients, bool buffers, bool random_state, int measured_peak, "
        "int predicted_peak, int budget) -> str",
        [](bool outputs, bool gradients, bool buffers, bool random_state, std::int64_t measured_peak,
           std::int64_t predicted_peak, std::int64_t budget) {
            PairedReport report{.budget = Bytes(budget), .measured_peak = Bytes(measured_peak)};
            report.outputs_identical = outputs, report.gradients_identical = gradients;
            report.buffers_identical = buffers, report.random_state_identical = random_state;
            report.states_identical = true;
            return mismatch_of(report, Bytes(predicted_peak));
        });
    library.def("budget_bytes(str text) -> int?", [](const std::string& text) -> std::optional<std::int64_t> {
        const Budget budget = or_throw(parse_budget(text));
        if (budget.of != Budget::Of::nothing) return std::nullopt;
        return budget.bytes.value;
    });
    // Makes, for each tensor of `like`, a tensor that counts as one of the device but has its memory on the
    // host. Without `fill`, the new tensor has the contents of the given tensor.
    library.def("host_tensors(Tensor[] like, str device, float? fill) -> Tensor[]",
                [](const Tensors& like, const std::string& device, std::optional<double> fill) {
                    return or_throw(host_tensors(like, fill, *open_device_named(device)));
                });
    library.def("check_copies(str text) -> ()", [](const std::string& text) { copies_from(text); });
    library.def("generate_config(str type) -> str",
                [](const std::string& type) { return or_throw(generate_config(type)); });
    library.def("check_solver(str name) -> ()",
                [](const std::string& name) { or_throw(make_solver(name, nullptr)); });
    library.def("check_config(str text) -> str", [](const std::string& text) {
        const Config config = or_throw(parse_config(text, "the configuration"));
        return json{{"solver", config.solver}, {"options", config.options ? *config.options : json::object()}}
            .dump();
    });
    library.def("own_key() -> str", [] { return std::string(c10::toString(own_key)); });
    library.def("counted_bytes() -> int", [] { return CountingAllocator::alive(); });
    library.def("counted_peak_bytes() -> int", [] { return CountingAllocator::watermark(); });
    library.def("reset_counted_peak() -> ()", [] { CountingAllocator::reset_watermark(); });
}

struct TorchDeviceMemory : torch::CustomClassHolder {};

/// Defines functions about memory that the Python package calls around the caller's steps. They are not
/// registered as ops, because a dispatch mode of the caller would see ops.
void define_device_memory(torch::Library& library) {
    library
        .class_<TorchDeviceMemory>("DeviceMemory")
        // Frees the memory of the device's idle arenas. An arena (the memory of a planned step) is idle
        // between steps if the caller holds no tensor in it.
        .def_static("release_idle_arenas",
                    [](const std::string& device) {
                        const c10::Device of(device);
                        Arena::give_way(of.is_cpu() ? the_host : of.index());
                    })
        // Returns the most bytes that all tensors took on the device since the last call of `take_step_peak`.
        .def_static("take_step_peak",
                    [](const std::string& device) { return open_device_named(device)->take_step_peak(); });
}

TORCH_LIBRARY(rematlas, library) {
    define_recording(library);
    define_update_recording(library);
    define_plan(library);
    define_comparison(library);
    define_original(library);
    define_solving(library);
    define_ops(library);
    define_ops_of_autograd(library);
    define_ops_of_shapes(library);
    define_device_memory(library);
}

}  // namespace rematlas
