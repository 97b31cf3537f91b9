// Starts each program of Rematlas once, to see whether it works.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "app/cli/doctor/machine_facts.h"
#include "app/programs/child_process.h"
#include "app/programs/runtime_program.h"
#include "viz/layout/layout_worker.h"

namespace rematlas {
namespace {

namespace fs = std::filesystem;

std::string first_line_of(const std::string& text) {
    const std::string line = text.substr(0, text.find('\n'));
    return line.substr(0, 300);
}

FoundProgram named_program(const std::string& name, const fs::path& path) {
    FoundProgram program;
    program.name = name;
    program.path = path.string();
    return program;
}

/// Runs the program with arguments that make it answer and end at once. Adds a complaint if it fails.
FoundProgram tried(const std::string& name, const fs::path& path, const std::vector<std::string>& arguments,
                   std::chrono::seconds limit, std::vector<Complaint>& wrong) {
    FoundProgram program = named_program(name, path);
    std::vector<std::string> words = {program.path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const ChildRun run = run_child(words, limit);
    program.works = run.ended_well();
    program.how = program.works ? "runs" : run.how_it_ended(limit);
    if (program.works) return program;
    const std::string said = first_line_of(run.errors);
    const bool wants_library = said.find("error while loading shared libraries") != said.npos;
    wrong.push_back({program.path + " " + program.how + (said.empty() ? "" : ": " + said),
                     run.hung ? "try again with --wait " + std::to_string(4 * limit.count()) +
                                    "; if it hangs then, install or build Rematlas again"
                     : wants_library
                         ? "install the library that is named, in the version that the program was "
                           "built with, or build Rematlas again"
                         : "install or build Rematlas again"});
    return program;
}

/// Finds the explorer next to this program, else on the $PATH.
fs::path find_explorer() {
    constexpr const char* name = "rematlas-explorer";
    std::error_code ignored;
    const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / name;
    if (::access(beside.c_str(), X_OK) == 0) return beside;
    const char* set = std::getenv("PATH");
    std::istringstream path(set ? set : "");
    for (std::string folder; std::getline(path, folder, ':');)
        if (const fs::path found = fs::path(folder) / name;
            !folder.empty() && ::access(found.c_str(), X_OK) == 0)
            return found;
    return {};
}

}  // namespace

FoundProgram look_at_runtime_program(std::chrono::seconds limit, Complaints& complaints) {
    const fs::path path = find_runtime_program();
    if (path.empty()) {
        const char* why = std::getenv("REMATLAS_NO_RUNTIME");
        complaints.missing.push_back(
            {"there is no rematlas-runtime: capture, run and links of files do not work" +
                 (why && *why ? std::string(": ") + why : std::string()),
             "activate the environment with the Python package of Rematlas, or build with libtorch "
             "(make build)"});
        return named_program("rematlas-runtime", {});
    }
    FoundProgram program = tried("rematlas-runtime", path, {"--help"}, limit, complaints.wrong);
    std::ifstream(path.parent_path() / "torch_version") >> program.torch;
    return program;
}

FoundProgram look_at_layout_program(std::chrono::seconds limit, Complaints& complaints) {
    const fs::path path = find_layout_worker();
    if (path.empty()) {
        complaints.missing.push_back(
            {"there is no rematlas-layout: pictures of graphs do not work",
             "build with Graphviz (libgvc), or let REMATLAS_LAYOUT_WORKER name the program"});
        return named_program("rematlas-layout", {});
    }
    FoundProgram program = named_program("rematlas-layout", path);
    LayoutRequest of_one_item;
    of_one_item.items.resize(1);
    of_one_item.items.front().size = {10, 10};
    LayoutLimits limits;
    limits.time = limit;
    limits.worker = path;
    const Result<Layout> layout = layout_in_worker(of_one_item, limits);
    program.works = static_cast<bool>(layout);
    program.how = layout ? "runs" : layout.error().message;
    if (program.works) return program;
    complaints.wrong.push_back(
        {program.path + ": " + program.how, "install Graphviz (libgvc6), or build Rematlas again"});
    return program;
}

FoundProgram look_at_explorer(std::chrono::seconds limit, Complaints& complaints) {
    const fs::path path = find_explorer();
    if (path.empty()) {
        complaints.missing.push_back(
            {"there is no rematlas-explorer: graphs and plans cannot be shown in a window",
             "build with Qt 5.15, or use rematlas serve and rematlas report"});
        return named_program("rematlas-explorer", {});
    }
    return tried("rematlas-explorer", path, {"--version"}, limit, complaints.wrong);
}

}  // namespace rematlas
