// rematlas doctor
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/cli/built_in.h"
#include "app/cli/command.h"
#include "app/cli/doctor/diagnosis.h"
#include "core/base/sizes.h"

namespace rematlas {
namespace {

using nlohmann::json;

json complaints_json(const std::vector<Complaint>& complaints) {
    json list = json::array();
    for (const Complaint& one : complaints) list.push_back({{"what", one.what}, {"action", one.action}});
    return list;
}

json text_or_null(const std::string& text) {
    return text.empty() ? json() : json(text);
}

json diagnosis_json(const Diagnosis& found) {
    json out = {{"format", "rematlas.doctor"},
                {"rematlas", {{"version", REMATLAS_VERSION}, {"compiler", compiler_of_build()}}},
                {"system",
                 {{"name", found.system.system},
                  {"kernel", found.system.kernel},
                  {"processors", found.system.processors},
                  {"memory_bytes", found.system.memory_bytes}}},
                {"python",
                 {{"asked_for", found.python.asked_for},
                  {"version", text_or_null(found.python.version)},
                  {"executable", text_or_null(found.python.executable)},
                  {"torch", text_or_null(found.python.torch)},
                  {"cuda", text_or_null(found.python.cuda)},
                  {"package", text_or_null(found.python.package)}}},
                {"devices", json::array()},
                {"libraries", json::object()},
                {"programs", json::object()},
                {"settings", json::object()},
                {"cache",
                 {{"folder", text_or_null(found.cache.folder)},
                  {"bytes", found.cache.bytes},
                  {"files", found.cache.files}}},
                {"wrong", complaints_json(found.wrong)},
                {"missing", complaints_json(found.missing)}};
    for (const FoundDevice& device : found.devices)
        out["devices"].push_back({{"name", device.name},
                                  {"memory_bytes", device.memory_bytes},
                                  {"driver", text_or_null(device.driver)}});
    for (const OptionalLibrary& library : optional_libraries())
        out["libraries"][library.name] = library.is_there;
    for (const FoundProgram& program : found.programs)
        out["programs"][program.name] = {{"path", text_or_null(program.path)},
                                         {"works", program.works},
                                         {"how", text_or_null(program.how)},
                                         {"torch", text_or_null(program.torch)}};
    for (const Setting& setting : found.settings) out["settings"][setting.variable] = setting.value;
    return out;
}

/// Replaces the user's home folder by ~, so that a pasted text does not tell the user's name.
std::string without_home(std::string text) {
    const char* home = std::getenv("HOME");
    const std::string folder = home && *home && std::string(home) != "/" ? std::string(home) + "/" : "";
    for (std::size_t at = 0; !folder.empty() && (at = text.find(folder, at)) != text.npos; at += 2)
        text.replace(at, folder.size(), "~/");
    return text;
}

void print_fact(const std::string& name, const std::string& text) {
    std::printf("  %-18s %s\n", name.c_str(), without_home(text).c_str());
}

std::string torch_text(const PythonFacts& python) {
    if (!python.has_torch) return "none";
    if (python.torch.empty()) return "not imported, see below";
    return python.torch + (python.cuda.empty() ? ", without CUDA" : ", CUDA " + python.cuda);
}

std::string package_text(const PythonFacts& python) {
    if (!python.has_package) return "none";
    return python.package.empty() ? "not imported, see below" : python.package;
}

void print_python(const PythonFacts& python) {
    std::printf("\npython\n");
    if (python.version.empty()) return print_fact(python.asked_for, "does not run");
    print_fact("python " + python.version, python.executable);
    print_fact("torch", torch_text(python));
    print_fact("package rematlas", package_text(python));
}

void print_devices(const std::vector<FoundDevice>& devices) {
    std::printf("\ndevices\n");
    print_fact("cpu", "the processors of this machine");
    for (const FoundDevice& device : devices)
        print_fact("gpu", device.name + ", " + format_bytes(Bytes(device.memory_bytes)) +
                              (device.driver.empty() ? "" : ", driver " + device.driver));
    if (devices.empty()) print_fact("gpu", "none found");
}

void print_complaints(const char* title, const std::vector<Complaint>& complaints) {
    if (complaints.empty()) return;
    std::printf("\n%s\n", title);
    for (const Complaint& one : complaints)
        std::printf("  - %s\n    next: %s\n", without_home(one.what).c_str(),
                    without_home(one.action).c_str());
}

void print_diagnosis(const Diagnosis& found) {
    std::printf("rematlas %s\n", REMATLAS_VERSION);
    print_fact("built by", compiler_of_build());
    print_fact("system", found.system.system + ", " + found.system.kernel);
    print_fact("machine", std::to_string(found.system.processors) + " processors, " +
                              format_bytes(Bytes(found.system.memory_bytes)) + " of memory");
    print_python(found.python);
    print_devices(found.devices);
    std::printf("\nlibraries\n");
    for (const OptionalLibrary& library : optional_libraries())
        print_fact(library.name, library.is_there ? "built in" : "not built in; it is for " + library.serves);
    std::printf("\nprograms\n");
    for (const FoundProgram& program : found.programs)
        print_fact(program.name, program.path.empty()
                                     ? "none"
                                     : program.path +
                                           (program.torch.empty() ? "" : ", for torch " + program.torch) +
                                           ", " + program.how);
    std::printf("\nsettings\n");
    for (const Setting& setting : found.settings) print_fact(setting.variable, setting.value);
    if (found.settings.empty()) print_fact("variables", "none is set");
    print_fact("cache folder", found.cache.folder.empty()
                                   ? "none"
                                   : found.cache.folder + ", " + std::to_string(found.cache.files) +
                                         " files, " + format_bytes(Bytes(found.cache.bytes)));
    print_complaints("missing", found.missing);
    print_complaints("wrong", found.wrong);
    if (found.wrong.empty()) std::printf("\nnothing is wrong\n");
}

}  // namespace

void add_doctor_command(const Commands& commands) {
    static OutputFlags output;
    static int wait = 30;
    CLI::App* command =
        commands.add("doctor", "what is installed and works, and what to do about the rest, in one paste",
                     "rematlas doctor", output, []() -> Result<Exit> {
                         const Diagnosis found = diagnose(std::chrono::seconds(wait));
                         if (output.json)
                             print_json(diagnosis_json(found));
                         else
                             print_diagnosis(found);
                         return found.wrong.empty() ? Exit::success : Exit::negative;
                     });
    command->add_option("--wait", wait, "the most seconds that each program is waited for (default: 30)")
        ->check(CLI::Range(1, 3600));
}

}  // namespace rematlas
