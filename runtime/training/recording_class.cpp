// torch.classes.rematlas.Recording: records a training step for the Python package.
#include <array>

#include "runtime/training/bindings.h"

namespace rematlas {
namespace {

/// The names of the values of StepRecording::State, in their order.
constexpr std::array state_names{"open", "recorded", "refused", "dropped", "disturbed"};

}  // namespace

StepRecording::Kind kind_named(const std::string& name) {
    if (name == "from shapes") return StepRecording::Kind::from_shapes;
    return name == "with audit" ? StepRecording::Kind::real_with_audit : StepRecording::Kind::real;
}

void define_recording(torch::Library& library) {
    using Recording = c10::intrusive_ptr<TorchRecording>;
    using Tensors = std::vector<at::Tensor>;
    library.class_<TorchRecording>("Recording")
        .def(torch::init<const std::vector<std::string>&, const Tensors&, std::int64_t, const Tensors&,
                         const std::string&, const std::string&>())
        .def("begin", [](const Recording& self) { return self->step->begin(); })
        .def("enter", [](const Recording& self, const std::string& path,
                         const std::string& class_name) { self->step->places.enter(path, class_name); })
        .def("leave", [](const Recording& self) { self->step->places.leave(); })
        .def("end", [](const Recording& self, const Tensors& outputs) { self->step->end(outputs); })
        .def("run_backward",
             [](const Recording& self, const c10::List<bool>& used) {
                 self->step->run_backward({used.begin(), used.end()});
             })
        .def("abandon", [](const Recording& self) { self->step->abandon(); })
        .def("refuse", [](const Recording& self, const std::string& why) { self->step->refuse(why); })
        .def("uncut", [](const Recording& self, const std::string& why) { self->step->uncut(why); })
        .def("sums_gradients", [](const Recording& self) { return self->step->sums_gradients(); })
        .def("depends_on_data", [](const Recording& self,
                                   const at::Tensor& tensor) { return self->step->depends_on_data(tensor); })
        .def("line", [](const Recording& self) { return self->step->places.line(); })
        .def("state",
             [](const Recording& self) {
                 return std::string(state_names.at(static_cast<std::size_t>(self->step->state())));
             })
        .def("refusal", [](const Recording& self) { return self->step->refusal().value_or(""); })
        .def("eviction_changed", [](const Recording& self) { return self->step->eviction_changed(); })
        .def("other_thread", [](const Recording& self) { return self->step->other_thread(); })
        .def("out_of_memory", [](const Recording& self) { return self->step->out_of_memory(); })
        .def("groups", [](const Recording& self) { return self->step->groups(); })
        .def("survivors", [](const Recording& self) { return self->step->survivors(); })
        .def("beside", [](const Recording& self) { return self->step->beside(); })
        .def("used_outputs",
             [](const Recording& self) {
                 c10::List<bool> used;
                 for (const bool one : self->step->used_outputs()) used.push_back(one);
                 return used;
             })
        .def("loss",
             [](const Recording& self) {
                 return std::vector<std::int64_t>{self->step->loss().most, self->step->loss().kept};
             })
        .def("expect_loss", [](const Recording& self, std::int64_t most,
                               std::int64_t kept) { self->step->expect_loss({.most = most, .kept = kept}); })
        .def("held", [](const Recording& self) { return self->step->held(); })
        .def("difference", [](const Recording& self, const Recording& other) {
            return difference(self->step->recording(), other->step->recording()).value_or("");
        });
}

}  // namespace rematlas
