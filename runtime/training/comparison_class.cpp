// torch.classes.rematlas.Comparison: compares a real step of the original with its replay by the plan.
#include "runtime/training/plan_class.h"
#include "runtime/training/trial_run.h"

namespace rematlas {
namespace {

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
             [](const Trial& self) -> std::string {
                 switch (self->trial->verdict()) {
                     case TrialRun::Verdict::open:
                         return "open";
                     case TrialRun::Verdict::same:
                         return "same";
                     case TrialRun::Verdict::different:
                         return "different";
                     case TrialRun::Verdict::dropped:
                         return "dropped";
                     case TrialRun::Verdict::disturbed:
                         return "disturbed";
                     default:
                         return "other course";
                     case TrialRun::Verdict::no_room:
                         return "no room";
                 }
             })
        .def("why", [](const Trial& self) { return self->trial->why(); })
        .def("other_thread", [](const Trial& self) { return self->trial->other_thread(); })
        .def("measured_peak", [](const Trial& self) { return self->trial->measured_peak().value; });
}

}  // namespace rematlas
