#include "app/cli/doctor/machine_facts.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/cli/doctor/told_variables.h"
#include "app/programs/child_process.h"
#include "core/base/files.h"

namespace rematlas {
namespace {

namespace fs = std::filesystem;

/// Returns the value of PRETTY_NAME="..." in /etc/os-release.
std::string name_of_system() {
    std::ifstream file("/etc/os-release");
    constexpr std::string_view field = "PRETTY_NAME=";
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(field)) continue;
        line = line.substr(field.size());
        return line.size() > 1 && line.front() == '"' ? line.substr(1, line.size() - 2) : line;
    }
    return "unknown system";
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

SystemFacts look_at_system() {
    SystemFacts facts;
    facts.system = name_of_system();
    utsname name{};
    if (::uname(&name) == 0)
        facts.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
    facts.processors = std::thread::hardware_concurrency();
    struct sysinfo memory {};
    if (::sysinfo(&memory) == 0)
        facts.memory_bytes = static_cast<std::int64_t>(memory.totalram) * memory.mem_unit;
    return facts;
}

std::vector<FoundDevice> look_at_driver(std::chrono::seconds limit, Complaints& complaints) {
    const ChildRun run = run_child(
        {"nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"},
        limit);
    if (run.start_error == ENOENT) return {};  // without nvidia-smi, NVIDIA's driver is not installed
    if (!run.ended_well()) {
        complaints.wrong.push_back(
            {"nvidia-smi " + run.how_it_ended(limit), "repair or restart the driver of the GPU"});
        return {};
    }
    std::vector<FoundDevice> devices;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string name, memory, driver;
        std::getline(fields, name, ',');
        std::getline(fields, memory, ',');
        std::getline(fields, driver, ',');
        if (trimmed(driver).empty()) continue;
        const std::int64_t mebibytes = std::strtoll(memory.c_str(), nullptr, 10);
        devices.push_back({trimmed(name), trimmed(driver), mebibytes << 20});
    }
    return devices;
}

std::vector<Setting> look_at_settings(std::vector<Complaint>& wrong) {
    std::vector<Setting> settings;
    const auto tell = [&](const char* variable) {
        if (const char* value = std::getenv(variable)) settings.push_back({variable, value});
    };
    for (const char* variable : own_variables) tell(variable);
    for (const char* variable : variables_of_others) tell(variable);
    if (const char* set = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING"); set)
        wrong.push_back({"PYTORCH_NO_CUDA_MEMORY_CACHING is set: plans on a GPU are refused",
                         "unset PYTORCH_NO_CUDA_MEMORY_CACHING"});
    if (const char* set = std::getenv("REMATLAS_SCALE_MEASURED_TIMES"); set && *set)
        wrong.push_back(
            {"REMATLAS_SCALE_MEASURED_TIMES is set: measured times are scaled at random, for tests",
             "unset REMATLAS_SCALE_MEASURED_TIMES"});
    return settings;
}

CacheFacts look_at_cache(std::vector<Complaint>& wrong) {
    CacheFacts facts;
    facts.folder = cache_folder().string();
    std::error_code failed;
    if (facts.folder.empty() || !fs::exists(facts.folder, failed)) return facts;
    if (!fs::is_directory(facts.folder, failed) || ::access(facts.folder.c_str(), R_OK | W_OK | X_OK) != 0) {
        wrong.push_back(
            {"the cache folder " + facts.folder + " cannot be written: earlier answers are not reused",
             "make it a folder of yours, or let REMATLAS_CACHE name another one"});
        return facts;
    }
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(facts.folder, options, failed), end; !failed && at != end;
         at.increment(failed)) {
        std::error_code ignored;
        if (!at->is_regular_file(ignored)) continue;
        const std::uintmax_t bytes = at->file_size(ignored);
        if (ignored) continue;
        facts.bytes += static_cast<std::int64_t>(bytes);
        ++facts.files;
    }
    return facts;
}

}  // namespace rematlas
