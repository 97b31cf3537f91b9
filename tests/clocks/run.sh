#!/usr/bin/env bash
# Runs all tests of a build under conditions that differ from machine to machine. A test that fails only here
# depends on measured times, or on how far a search gets within its time limit.
#
#     tests/clocks/run.sh build/release                    all of the below, about an hour on two cores
#     tests/clocks/run.sh build/release scaled:7           measured op times scaled by 0.2 to 5, with seed 7
#     tests/clocks/run.sh build/release hurried            searches with a tenth of their time
#     tests/clocks/run.sh build/release busy:6             six busy processes beside the tests
#
# Arguments after `--` are passed to ctest: tests/clocks/run.sh build/release hurried -- -R explorer
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?the folder of a build, e.g. build/release}" && pwd)
shift
ways=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do ways+=("$1") && shift; done
[ $# -eq 0 ] || shift
[ ${#ways[@]} -gt 0 ] || ways=(scaled:1 scaled:2 scaled:3 hurried busy:6)

busy=()
trap '[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}"' EXIT
failed=()
for way in "${ways[@]}"; do
    echo "clocks: $way"
    settings=()
    number=${way#*:}
    case $way in
        scaled:*) settings=(REMATLAS_SCALE_MEASURED_TIMES="$number") ;;
        hurried) settings=(LD_PRELOAD="$build/tests/clocks/libhurried_clock.so") ;;
        busy:*) for ((i = 0; i < number; i++)); do
            while :; do :; done &
            busy+=($!)
        done ;;
        *) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
    esac
    env "${settings[@]}" ctest --test-dir "$build" -j 2 --no-tests=error --output-on-failure "$@" || failed+=("$way")
    [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}"
    busy=()
done
[ ${#failed[@]} -eq 0 ] || { echo "clocks: tests failed under ${failed[*]}" >&2 && exit 1; }
