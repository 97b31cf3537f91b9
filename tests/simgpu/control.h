// What a test asks of the stand-in; found with dlsym, or with ctypes, in a process that it was preloaded
// into.
#pragma once

extern "C" {
/// "eager", "lazy" or "seeded:NUMBER", from now on. 0: it is none of them.
int simgpu_set_order(const char* order);
/// 1: a race ends the process with status 86; 0: it is counted.
void simgpu_stop_at_races(int stop);
/// Counted since the last call.
long simgpu_races();
const char* simgpu_last_race();
/// The `nth` wait for an event from now on (1 is the next) does nothing. 0: none.
void simgpu_drop_wait(long nth);
/// Waits for events so far.
long simgpu_waits();
/// Nanoseconds of virtual time that the program has seen pass; work counts once it was waited for.
double simgpu_time();
/// How long the lane (0 compute, 1 copies in, 2 copies out) of the device was busy, in virtual nanoseconds.
double simgpu_busy(int device, int lane);
/// Waits for all work of all devices.
void simgpu_synchronize();
/// Whether the program has touched the device.
int simgpu_is_open(int device);
/// Bytes of a device that the driver has handed out, the context's included; the most since the last call to
/// `simgpu_reset_peak`.
long long simgpu_used(int device);
long long simgpu_peak(int device);
void simgpu_reset_peak(int device);
/// Capacity in bytes of each device.
void simgpu_set_memory(long long bytes);
/// Pinned bytes of the host, registered ones included.
long long simgpu_pinned();
}
