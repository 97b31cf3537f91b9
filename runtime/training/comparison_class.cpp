// torch.classes.rematlas.Comparison: compares a real step of the original with its replay by the plan.
#include <array>

#include "runtime/training/plan_class.h"
#include "runtime/training/trial_run.h"

namespace rematlas {
namespace {

/// The names of the values of TrialRun::Verdict, in their order.
constexpr std::array verdict_names{"open",    "same",    "different", "other course",
                                   "no room", "dropped", "disturbed"};

struct TorchTrialRun : torch::CustomClassHolder {
    TorchTrialRun(const c10::intrusive_ptr<TorchPlan>& plan, const std::vector<at::Tensor>& tensors,
                  const std::vector<at::Tensor>& inputs)
        : trial(std::make_shared<TrialRun>(plan->step, tensors, inputs)) {}
    std::shared_ptr<TrialRun> trial;
};

}  // namespace

void define_comparison(torch::Library& library) {
    using Planned = c10::intrusive_ptr<TorchPlan>;
    using Trial = c10::intrusive_ptr<TorchTrialRun>;
    using Tensors = std::vector<at::Tensor>;
    library.class_<TorchTrialRun>("Comparison")
        .def(torch::init<const Planned&, const Tensors&, const Tensors&>())
        .def("begin", [](const Trial& self) { return self->trial->begin(); })
        .def("end", [](const Trial& self, const Tensors& outputs) { self->trial->end(outputs); })
        .def("abandon", [](const Trial& self) { self->trial->abandon(); })
        .def("uncut", [](const Trial& self, const std::string& why) { self->trial->uncut(why); })
        .def("held", [](const Trial& self) { return self->trial->held(); })
        .def("verdict",
             [](const Trial& self) {
                 return std::string(verdict_names.at(static_cast<std::size_t>(self->trial->verdict())));
             })
        .def("why", [](const Trial& self) { return self->trial->why(); })
        .def("other_thread", [](const Trial& self) { return self->trial->other_thread(); })
        .def("measured_peak", [](const Trial& self) { return self->trial->measured_peak().value; });
}

}  // namespace rematlas
