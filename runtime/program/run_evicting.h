// rematlas run --evict: training without a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/commands.h"

namespace rematlas {

/// The flags of `rematlas run`. A flag without a default below is empty or 0 if it is not given.
struct RunFlags {
    std::string model, plan, device = "cpu", trace;
    int steps = 5;
    std::uint64_t seed = 1;
    bool verify = false, cuda_graphs = false, json = false, quiet = false, progress_json = false;

    bool evict = false;
    std::string budget, loss, heuristic, deallocation, record;
    std::vector<std::string> inputs;
    double thrash = 0;
    int threads = 0;
};

void add_evict_flags(CLI::App& command, RunFlags& flags);
Result<Exit> run_evicting(const RunFlags& flags);

}  // namespace rematlas
