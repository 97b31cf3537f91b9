// The findings of `rematlas doctor`, before they are printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/built_in.h"

namespace rematlas {

/// A fault, and the user's next action.
struct Complaint {
    std::string what, action;
};

/// The complaints of one check. Checks that run at the same time have separate objects.
struct Complaints {
    std::vector<Complaint> wrong;    ///< about parts that are installed and do not work
    std::vector<Complaint> missing;  ///< about missing parts, without which some commands do not work
};

struct SystemFacts {
    std::string system;  ///< "Debian GNU/Linux 12 (bookworm)"
    std::string kernel;  ///< "Linux 6.1.0 x86_64"
    unsigned processors = 0;
    std::int64_t memory_bytes = 0;
};

struct FoundDevice {
    std::string name, driver;
    std::int64_t memory_bytes = 0;
};

/// A program that rematlas starts.
struct FoundProgram {
    std::string name, path;  ///< the path is empty if there is no such program
    bool works = false;
    std::string how;    ///< how a trial run ended, e.g. "runs", "gave no answer in 30 s"
    std::string torch;  ///< version of torch for which the program was built, if a file next to the program
                        ///< says it
};

struct PythonFacts {
    std::string asked_for;            ///< the command that starts the interpreter
    std::string version, executable;  ///< empty if the interpreter does not run
    /// Whether the packages are installed. An installed package may still fail to import.
    bool has_torch = false, has_package = false;
    std::string torch, cuda;  ///< versions; empty if there is none or the import fails
    std::string package;      ///< folder of the package rematlas; empty if the import fails
    std::vector<FoundDevice> devices;
};

struct Setting {
    std::string variable, value;
};

struct CacheFacts {
    std::string folder;  ///< empty if there is no cache
    std::int64_t bytes = 0;
    std::int64_t files = 0;
};

struct Diagnosis : Complaints {
    SystemFacts system;
    PythonFacts python;
    std::vector<FoundDevice> devices;
    std::vector<FoundProgram> programs;
    std::vector<Setting> settings;  ///< the environment variables of told_variables.h that are set
    CacheFacts cache;
};

/// Examines this machine. Waits at most `limit` for each program that is started.
Diagnosis diagnose(std::chrono::seconds limit);

}  // namespace rematlas
