#include "tests/simgpu/settings.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tests/simgpu/control.h"

namespace simgpu {
namespace {

std::mutex races_mutex;
long races = 0;
std::string last_race;

Settings from_environment() {
    Settings made;
    const auto number = [](const char* name, auto& value) {
        if (const char* text = std::getenv(name))
            value = static_cast<std::decay_t<decltype(value)>>(std::atof(text));
    };
    number("SIMGPU_DEVICES", made.devices);
    if (made.devices < 1 || made.devices > most_devices) {
        std::fprintf(stderr, "simgpu: SIMGPU_DEVICES=%d: expected 1 to %d\n", made.devices, most_devices);
        std::_Exit(2);
    }
    number("SIMGPU_MEMORY", made.memory);
    number("SIMGPU_CONTEXT", made.context);
    number("SIMGPU_SMS", made.multiprocessors);
    number("SIMGPU_COPY_IN", made.copy_rate[0]);
    number("SIMGPU_COPY_OUT", made.copy_rate[1]);
    if (const char* text = std::getenv("SIMGPU_BREAK"))
        made.broken_generator = std::string(text) == "generator";
    if (const char* text = std::getenv("SIMGPU_NAME")) made.name = text;
    if (const char* text = std::getenv("SIMGPU_RACES")) made.stop_at_races = std::string(text) != "count";
    return made;
}

}  // namespace

Settings& settings() {
    static Settings* made = [] {
        static Settings read = from_environment();
        return &read;
    }();
    static const bool ordered = [] {
        const char* text = std::getenv("SIMGPU_ORDER");
        if (!text) return true;
        const std::string order = text;
        if (order == "lazy") made->order = Order::lazy;
        if (order.rfind("seeded:", 0) == 0)
            made->order = Order::seeded, made->seed = std::strtoull(order.c_str() + 7, nullptr, 10);
        if (made->order == Order::eager && order != "eager") {
            std::fprintf(stderr, "simgpu: SIMGPU_ORDER=%s: expected eager, lazy or seeded:NUMBER\n", text);
            std::_Exit(2);
        }
        return true;
    }();
    (void)ordered;
    return *made;
}

bool set_order(const std::string& text) {
    Settings& now = settings();
    if (text == "eager")
        now.order = Order::eager;
    else if (text == "lazy")
        now.order = Order::lazy;
    else if (text.rfind("seeded:", 0) == 0)
        now.order = Order::seeded, now.seed = std::strtoull(text.c_str() + 7, nullptr, 10);
    else
        return false;
    return true;
}

void report_race(const std::string& race) {
    std::lock_guard lock(races_mutex);
    if (settings().stop_at_races) {
        std::fprintf(stderr, "simgpu: race: %s\n", race.c_str());
        std::fflush(nullptr);
        std::_Exit(86);
    }
    ++races;
    last_race = race;
}

}  // namespace simgpu

using namespace simgpu;

extern "C" {

int simgpu_set_order(const char* order) {
    simgpu_synchronize();  // runs the work that was submitted under the old order
    return set_order(order);
}
void simgpu_stop_at_races(int stop) {
    settings().stop_at_races = stop != 0;
}
long simgpu_races() {
    std::lock_guard lock(races_mutex);
    const long counted = races;
    races = 0;
    return counted;
}
const char* simgpu_last_race() {
    return last_race.c_str();
}

}  // extern "C"
