// Functions by which a test controls the stand-in, a set of libraries that imitates a GPU. A process that
// preloads the stand-in finds these functions with dlsym or ctypes.
#pragma once

extern "C" {
/// Sets the order in which work runs from now on: "eager", "lazy" or "seeded:NUMBER". Returns 0 for any other
/// text, else 1.
int simgpu_set_order(const char* order);
/// If `stop` is 1, a race ends the process with status 86. If `stop` is 0, races are only counted.
void simgpu_stop_at_races(int stop);
/// Returns the number of races since the previous call.
long simgpu_races();
const char* simgpu_last_race();
/// From now on, the `nth` wait for an event has no effect. 1 means the next wait; after 0, every wait has its
/// effect again.
void simgpu_drop_wait(long nth);
/// Returns the number of waits for events so far.
long simgpu_waits();
/// Returns the virtual time, in nanoseconds, that has passed for the program. The time of work counts only
/// when the program has waited for the work.
double simgpu_time();
/// Returns how long a lane of the device (0 compute, 1 copies in, 2 copies out) was busy, in virtual
/// nanoseconds.
double simgpu_busy(int device, int lane);
/// Waits for all work of all devices.
void simgpu_synchronize();
/// Says whether the program has used the device.
int simgpu_is_open(int device);
/// `simgpu_used` returns the bytes of a device that the driver has allocated for the program, including the
/// bytes of the context. `simgpu_peak` returns the most such bytes since the last call of
/// `simgpu_reset_peak`.
long long simgpu_used(int device);
long long simgpu_peak(int device);
void simgpu_reset_peak(int device);
/// Sets the capacity of each device, in bytes.
void simgpu_set_memory(long long bytes);
/// Returns the bytes of pinned host memory, including registered memory.
long long simgpu_pinned();
}
