// What the environment says of the stand-in, and what a test may change while it runs.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simgpu/engine.h"

namespace simgpu {

struct Settings {
    Order order = Order::eager;  ///< SIMGPU_ORDER: eager, lazy, seeded:NUMBER
    std::uint64_t seed = 0;
    int devices = 1;  ///< SIMGPU_DEVICES, at most 8
    std::int64_t memory =
        8LL << 30;  ///< SIMGPU_MEMORY: bytes of each device, what its context takes included
    std::int64_t context = 64LL << 20;  ///< SIMGPU_CONTEXT: bytes
    std::string name = "Stand-in GPU";  ///< SIMGPU_NAME
    int multiprocessors = 16;           ///< SIMGPU_SMS
    bool broken_generator = false;       ///< SIMGPU_BREAK=generator: random kernels forget where they stand
    bool stop_at_races = true;          ///< SIMGPU_RACES: stop (the process ends with status 86) or count
    double memory_rate = 1000;          ///< bytes a nanosecond that kernels read and write
    double copy_rate[2] = {25, 20};     ///< SIMGPU_COPY_IN, SIMGPU_COPY_OUT: bytes a nanosecond
    double launch_nanoseconds = 2000;   ///< of each kernel, on the device
};

Settings& settings();
/// "eager", "lazy" or "seeded:NUMBER"; false: it is none of them.
bool set_order(const std::string& text);

/// Ends the process, or counts it, as the settings say.
void report_race(const std::string& race);

}  // namespace simgpu
