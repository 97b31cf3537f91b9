// torch.classes.rematlas.ScheduledModule: for `torch.ops.load_library`.
//
//     torch.ops.load_library("librematlas_training.so")
//     step = torch.classes.rematlas.ScheduledModule("gpt.plan", names, tensors, "cpu")
//     logits, = step.run([ids])
//
// Errors are RuntimeErrors of one line.
#include <torch/custom_class.h>

#include "runtime/allocator/counting_allocator.h"
#include "runtime/training/scheduled_module.h"

namespace rematlas {
namespace {

template <class T>
T or_throw(Result<T> result) {
    TORCH_CHECK(result, "rematlas: ", result.error().message);
    return result.take();
}

struct TorchScheduledModule : torch::CustomClassHolder {
    TorchScheduledModule(const std::string& plan, const std::vector<std::string>& names,
                         const std::vector<at::Tensor>& tensors, const std::string& device)
        : module(or_throw(ScheduledModule::load(plan, paired(names, tensors), "the model", device))) {}

    static std::vector<NamedTensor> paired(const std::vector<std::string>& names,
                                           const std::vector<at::Tensor>& tensors) {
        TORCH_CHECK(names.size() == tensors.size(), "rematlas: ", names.size(), " names for ", tensors.size(),
                    " tensors");
        std::vector<NamedTensor> pairs;
        for (std::size_t i = 0; i < names.size(); ++i) pairs.push_back({names[i], tensors[i]});
        return pairs;
    }

    ScheduledModule module;
};

const bool counting = [] {
    CountingAllocator::install(CountingAllocator::Heap::callers);
    return true;
}();

TORCH_LIBRARY(rematlas, library) {
    using Self = c10::intrusive_ptr<TorchScheduledModule>;
    library.class_<TorchScheduledModule>("ScheduledModule")
        .def(torch::init<const std::string&, const std::vector<std::string>&, const std::vector<at::Tensor>&,
                         const std::string&>())
        .def("run",
             [](const Self& self, const std::vector<at::Tensor>& inputs) {
                 return or_throw(self->module.forward(inputs));
             })
        .def("last_peak_bytes", [](const Self& self) { return self->module.last_peak().value; })
        .def("predicted_peak_bytes", [](const Self& self) { return self->module.predicted_peak().value; })
        .def("budget_bytes", [](const Self& self) { return self->module.budget().value; })
        .def("predicted_overhead", [](const Self& self) { return self->module.predicted_overhead(); })
        .def("threads", [](const Self& self) { return static_cast<std::int64_t>(self->module.threads()); });
    library.def("tensor_names(str plan) -> str[]",
                [](const std::string& plan) { return or_throw(ScheduledModule::tensor_names(plan)); });
    library.def("counted_bytes() -> int", [] { return CountingAllocator::alive(); });
    library.def("counted_peak_bytes() -> int", [] { return CountingAllocator::peak(); });
    library.def("reset_counted_peak() -> ()", [] { CountingAllocator::reset_peak(); });
}

}  // namespace
}  // namespace rematlas
