// torch.classes.rematlas.Eviction: online eviction for the Python package.
//
// Errors are RuntimeErrors with one line (torch.OutOfMemoryError if memory is short). Results with several
// fields are JSON.
#include <torch/custom_class.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/dtr/evict_online.h"
#include "core/dtr/eviction_names.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solving/option_reader.h"
#include "runtime/eviction/evictor.h"
#include "runtime/training/bindings.h"
#include "runtime/training/python_places.h"

namespace rematlas {
namespace {

using nlohmann::json;

EvictorOptions evictor_options(std::int64_t budget, const std::string& text) {
    TORCH_CHECK(budget > 0, "rematlas: the budget is ", budget, " bytes");
    json of_policy = json::parse(text);
    EvictorOptions options{.budget = budget};
    const auto take = [&](const char* name, bool& option) {
        option = of_policy.value(name, option);
        of_policy.erase(name);
    };
    take("record", options.record);
    take("gives_up", options.gives_up);
    take("costs_from_bytes", options.costs_from_bytes);
    const DtrOptions policy = or_throw(options_from<DtrOptions>("eviction", &of_policy));
    options.policy = {{policy.heuristic, policy.sample, policy.ignore_small, policy.seed},
                      policy.deallocation};
    options.thrash = policy.thrash;
    return options;
}

struct TorchEviction : torch::CustomClassHolder {
    TorchEviction(const std::string& device_name, std::int64_t budget, const std::string& options)
        : device(open_device_named(device_name)),
          budget(budget),
          given(json::parse(options)),
          evictor(*device, evictor_options(budget, options)) {
        evictor.set_places(&places);
    }

    /// Writes the record of the last complete step to files.
    void save(const std::string& name) {
        TORCH_CHECK(evictor.record(),
                    "rematlas: nothing is recorded; evict(..., record=True) keeps the last step");
        if (evictor.is_open() && evictor.backward_is_over()) evictor.end_step();
        TORCH_CHECK(evictor.record()->has_step(),
                    "rematlas: no step is over yet; one ends with its backward");
        json config = given;
        config.erase("record");
        Result<EvictedStep> step = finished(
            evictor.record()->last(), std::filesystem::path(name).filename().string(), Bytes(budget), config);
        TORCH_CHECK(step, "rematlas: the step that was recorded is not consistent: ", step.error().message);
        or_throw(write_step(*step, name));
    }

    std::string status() {
        if (evictor.is_open() && evictor.backward_is_over()) evictor.end_step();
        const Evictor::Status now = evictor.status();
        return json{{"steps", now.steps},
                    {"calls", now.calls},
                    {"evictions", now.counts.evictions},
                    {"rematerializations", now.counts.reruns},
                    {"rerun_time_ns", now.counts.rerun_time},
                    {"time_ns", now.counts.time},
                    {"known_ops", now.known_ops},
                    {"given_up", now.given_up}}
            .dump();
    }

    std::shared_ptr<DeviceRuntime> device;
    std::int64_t budget;
    json given;
    PythonPlaces places;
    Evictor evictor;
};

TORCH_LIBRARY_FRAGMENT(rematlas, library) {
    using Eviction = c10::intrusive_ptr<TorchEviction>;
    library.class_<TorchEviction>("Eviction")
        .def(torch::init<const std::string&, std::int64_t, const std::string&>())
        .def("open", [](const Eviction& self) { self->evictor.open(); })
        .def("close", [](const Eviction& self) { self->evictor.close(); })
        .def("stays", [](const Eviction& self,
                         const std::vector<at::Tensor>& tensors) { self->evictor.keep(tensors); })
        .def("touch", [](const Eviction& self, const at::Tensor& tensor,
                         std::int64_t look) { self->evictor.touch(tensor, Evictor::Look(look)); })
        .def("lend",
             [](const Eviction& self, const at::Tensor& tensor) { return self->evictor.lend(tensor); })
        .def("returned", [](const Eviction& self, std::int64_t loan) { self->evictor.returned(loan); })
        .def("names",
             [](const Eviction& self, const std::vector<at::Tensor>& tensors,
                const std::vector<std::string>& names,
                std::int64_t parameters) { self->evictor.names(paired(names, tensors, parameters)); })
        .def_static("follow_thread", [](bool followed) { Evictor::follow_thread(followed); })
        .def_static("leave_to_parent", [] { Evictor::leave_to_parent(); })
        .def("enter", [](const Eviction& self, const std::string& path,
                         const std::string& class_name) { self->places.enter(path, class_name); })
        .def("leave", [](const Eviction& self) { self->places.leave(); })
        .def("save", [](const Eviction& self, const std::string& name) { self->save(name); })
        .def("status", [](const Eviction& self) { return self->status(); });
    library.def("eviction_heuristics() -> str[]", [] { return words_of(kHeuristicNames); });
    library.def("eviction_deallocations() -> str[]", [] { return words_of(kDeallocationNames); });
}

}  // namespace
}  // namespace rematlas
