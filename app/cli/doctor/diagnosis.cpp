#include "app/cli/doctor/diagnosis.h"

#include <functional>
#include <future>

#include "app/cli/doctor/machine_facts.h"
#include "app/cli/doctor/python_facts.h"

namespace rematlas {
namespace {

/// Adds a complaint for each reason why torch or the runtime cannot use the driver's GPUs.
void complain_of_devices(const Diagnosis& found, std::vector<Complaint>& wrong) {
    const PythonFacts& python = found.python;
    if (!found.devices.empty() && !python.torch.empty() && python.devices.empty()) {
        if (python.cuda.empty())
            wrong.push_back({"there is a GPU, and torch " + python.torch + " is made without CUDA",
                             "install a torch with CUDA in this environment"});
        else
            wrong.push_back({"there is a GPU, and torch " + python.torch + " (CUDA " + python.cuda +
                                 ") finds none; the driver is " + found.devices.front().driver,
                             "update the driver, or install a torch for an older CUDA; see that "
                             "CUDA_VISIBLE_DEVICES does not hide the GPU"});
    }
    for (const FoundProgram& program : found.programs) {
        if (program.name != "rematlas-runtime" || !program.works || python.devices.empty()) continue;
        std::error_code ignored;
        const std::filesystem::path folder = std::filesystem::path(program.path).parent_path();
        if (!std::filesystem::exists(folder / "librematlas_cuda.so", ignored))
            wrong.push_back({"there is a GPU, and librematlas_cuda.so is not beside " + program.path,
                             "build Rematlas again where CUDA's headers are (make build)"});
    }
}

}  // namespace

Diagnosis diagnose(std::chrono::seconds limit) {
    Diagnosis found;
    Complaints of_python, of_driver, of_runtime, of_layout, of_explorer, of_machine;
    const auto begin = [limit](auto look, Complaints& complaints) {
        return std::async(std::launch::async, look, limit, std::ref(complaints));
    };
    auto python = begin(look_at_python, of_python);
    auto driver = begin(look_at_driver, of_driver);
    auto runtime = begin(look_at_runtime_program, of_runtime);
    auto layout = begin(look_at_layout_program, of_layout);
    auto explorer = begin(look_at_explorer, of_explorer);
    found.system = look_at_system();
    found.settings = look_at_settings(of_machine.wrong);
    found.cache = look_at_cache(of_machine.wrong);
    found.python = python.get();
    found.devices = driver.get();
    found.programs.push_back(runtime.get());
    found.programs.push_back(layout.get());
    found.programs.push_back(explorer.get());
    complain_of_devices(found, of_driver.wrong);
    if (found.devices.empty()) found.devices = found.python.devices;
    for (Complaints* one : {&of_machine, &of_python, &of_driver, &of_runtime, &of_layout, &of_explorer}) {
        found.wrong.insert(found.wrong.end(), one->wrong.begin(), one->wrong.end());
        found.missing.insert(found.missing.end(), one->missing.begin(), one->missing.end());
    }
    return found;
}

}  // namespace rematlas
