// The settings of the stand-in for a GPU. They come from the environment; a test may change them.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simgpu/engine.h"

namespace simgpu {

constexpr int most_devices = 8;

struct Settings {
    Order order = Order::eager;  ///< SIMGPU_ORDER: eager, lazy, seeded:NUMBER
    std::uint64_t seed = 0;
    int devices = 1;  ///< SIMGPU_DEVICES, at most `most_devices`
    std::int64_t memory =
        8LL << 30;  ///< SIMGPU_MEMORY: bytes of each device, including the bytes of its context
    std::int64_t context = 64LL << 20;  ///< SIMGPU_CONTEXT: bytes of a context
    std::string name = "Stand-in GPU";  ///< SIMGPU_NAME
    int multiprocessors = 16;           ///< SIMGPU_SMS
    bool broken_generator = false;      ///< SIMGPU_BREAK=generator: random kernels ignore their position
    bool stop_at_races = true;          ///< SIMGPU_RACES: stop (the process ends with status 86) or count
    double memory_rate = 1000;          ///< bytes per nanosecond that kernels read and write
    double copy_rate[2] = {25, 20};     ///< SIMGPU_COPY_IN, SIMGPU_COPY_OUT: bytes per nanosecond
    double launch_nanoseconds = 2000;   ///< time to launch a kernel on the device
};

Settings& settings();
/// Sets the order: "eager", "lazy" or "seeded:NUMBER". Returns false for any other text.
bool set_order(const std::string& text);

/// Ends the process because of the race, or counts it, depending on the settings.
void report_race(const std::string& race);

}  // namespace simgpu
