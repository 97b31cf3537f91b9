#include "app/cli/doctor/python_facts.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/programs/child_process.h"
#include "app/programs/python_package.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// The answers of the probe, one for each stage.
struct ProbeAnswer {
    json stages = json::object();
    std::string last_begun;  ///< the stage that began last

    explicit ProbeAnswer(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const json told = json::parse(line, nullptr, false);
            if (!told.is_object()) continue;
            last_begun = told.value("begins", last_begun);
            if (const std::string stage = told.value("stage", ""); !stage.empty()) stages[stage] = told;
        }
    }
    bool has(const std::string& stage) const { return stages.contains(stage); }
    std::string text(const std::string& stage, const std::string& field) const {
        if (!has(stage) || !stages[stage].contains(field) || !stages[stage][field].is_string()) return {};
        return stages[stage][field];
    }
};

std::string action_without_python() {
    const char* set = std::getenv("REMATLAS_PYTHON");
    if (set && *set) return "let REMATLAS_PYTHON name an interpreter, or leave the variable out";
    return "install Python 3, or activate an environment that has it";
}

/// Adds a complaint for each stage of the probe that failed.
void complain_of_stages(const ProbeAnswer& answer, const PythonFacts& python, std::vector<Complaint>& wrong) {
    if (const std::string error = answer.text("torch", "error"); !error.empty())
        wrong.push_back({"torch cannot be imported: " + error,
                         "install torch again in this environment (" + python.executable +
                             " -m pip install --force-reinstall torch)"});
    if (const std::string error = answer.text("devices", "error"); !error.empty() && !python.torch.empty())
        wrong.push_back({"torch cannot ask for GPUs: " + error,
                         "check the driver (nvidia-smi) and restart the machine if the driver was updated"});
    if (const std::string error = answer.text("package", "error"); !error.empty())
        wrong.push_back({"the Python package cannot be imported: " + error,
                         "do what the message says; without a hint there, build or install Rematlas again"});
}

}  // namespace

PythonFacts look_at_python(std::chrono::seconds limit, Complaints& complaints) {
    auto& [wrong, missing] = complaints;
    PythonFacts python;
    python.asked_for = python_interpreter().string();
    const ChildRun run = run_child({python.asked_for, "-c", python_probe}, limit);
    const ProbeAnswer answer(run.out);
    python.version = answer.text("python", "version");
    python.executable = answer.text("python", "executable");
    python.has_torch = answer.text("python", "torch") == "installed";
    python.has_package = answer.text("python", "rematlas") == "installed";
    python.torch = answer.text("torch", "version");
    python.cuda = answer.text("torch", "cuda");
    python.package = answer.text("package", "folder");
    if (answer.has("devices"))
        for (const json& device : answer.stages["devices"].value("devices", json::array()))
            python.devices.push_back({device.value("name", ""), "", device.value("bytes", std::int64_t{0})});
    if (run.start_error || python.version.empty()) {
        (run.start_error == ENOENT && !std::getenv("REMATLAS_PYTHON") ? missing : wrong)
            .push_back({python.asked_for + " " + run.how_it_ended(limit), action_without_python()});
        return python;
    }
    if (!run.ended_well()) {
        const std::string stage = answer.last_begun == "devices"   ? "while torch asked for GPUs"
                                  : answer.last_begun == "package" ? "while rematlas was imported"
                                  : answer.last_begun == "torch"   ? "while torch was imported"
                                                                   : "at its start";
        wrong.push_back({python.executable + " " + run.how_it_ended(limit) + " " + stage,
                         run.hung ? "try again with --wait " + std::to_string(4 * limit.count()) +
                                        "; if it hangs then, run the import by hand to see where"
                                  : "run the import by hand to see why; install what dies again"});
    }
    complain_of_stages(answer, python, wrong);
    if (!python.has_torch)
        missing.push_back(
            {python.executable + " has no torch: rematlas.apply and captures do not work",
             "activate the environment that has torch, or " + python.executable + " -m pip install torch"});
    else if (!python.has_package)
        missing.push_back({python.executable + " has no package rematlas: import rematlas does not work",
                           "install the wheel in this environment, or let PYTHONPATH name runtime/python "
                           "of the checkout"});
    return python;
}

}  // namespace rematlas
