// A library for LD_PRELOAD that makes the time of day jump. The monotonic clock does not change.
//
//     CLOCK_JUMP=3600 LD_PRELOAD=./jumping_clock.so rematlas solve ...
//
// CLOCK_JUMP: a number of seconds by which each call returns a later time than the previous call (an earlier
// time if the number is negative); random: any time between 1970 and 2106; zero: always 1970; late: always
// the year 2286.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static atomic_long calls;

static long jumped(long seconds) {
    const char* jump = getenv("CLOCK_JUMP");
    const long call = atomic_fetch_add(&calls, 1);
    if (!jump) return seconds;
    if (strcmp(jump, "zero") == 0) return 0;
    if (strcmp(jump, "late") == 0) return 9999999999;
    if (strcmp(jump, "random") == 0) return (long)((unsigned)(call + 1) * 2654435761u);
    return seconds + call * atol(jump);
}

int clock_gettime(clockid_t clock, struct timespec* found) {
    const int result = ((int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime"))(clock, found);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) found->tv_sec = jumped(found->tv_sec);
    return result;
}

int gettimeofday(struct timeval* found, void* zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
