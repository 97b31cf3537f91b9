// What `rematlas doctor` found, before it is printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/built_in.h"

namespace rematlas {

/// Something that does not work, and what to do next.
struct Complaint {
    std::string what, action;
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
    std::string name, path;  ///< the path is empty where there is none
    bool works = false;
    std::string how;    ///< how a trial run ended, e.g. "runs", "gave no answer in 30 s"
    std::string torch;  ///< the version that it is built for, where a file beside it tells
};

struct PythonFacts {
    std::string asked_for;                        ///< the interpreter as it is started
    std::string version, executable;              ///< empty where it does not run
    bool has_torch = false, has_package = false;  ///< installed; importing may fail nevertheless
    std::string torch, cuda;                      ///< versions; empty where the import fails or there is none
    std::string package;                          ///< its folder; empty where the import fails
    std::vector<FoundDevice> devices;
};

struct Setting {
    std::string variable, value;
};

struct CacheFacts {
    std::string folder;  ///< empty where nothing is kept
    std::int64_t bytes = 0;
    std::int64_t files = 0;
};

struct Diagnosis {
    SystemFacts system;
    PythonFacts python;
    std::vector<FoundDevice> devices;
    std::vector<FoundProgram> programs;
    std::vector<Setting> settings;  ///< of the variables that are read, those that are set
    CacheFacts cache;
    std::vector<Complaint> wrong;    ///< what is there and does not work
    std::vector<Complaint> missing;  ///< what is not there, so that some commands do not work
};

/// Looks at this machine. No program that is started is waited for longer than `limit`.
Diagnosis diagnose(std::chrono::seconds limit);

}  // namespace rematlas
