#!/usr/bin/env bash
# Runs the bench of a machine with an NVIDIA GPU: builds the programs, runs the tests that need a device,
# trains under plans, and writes bench/results/cuda.csv. The script needs a compiler, CMake, Ninja, nvcc and a
# torch wheel (in .venv or of python3). The other libraries may come from carried/ (see
# resources/setup/carry.sh).
#     bench/cuda.sh [--models resnet101,unet] [--pairs 5]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
python=.venv/bin/python
[ -x "$python" ] || python=python3
if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "bench/cuda.sh: no CUDA device, or no driver: nothing to measure" >&2
    exit 1
fi
cmake --preset device
cmake --build --preset device
status=0
# With REMATLAS_NEEDS_GPU, a test that finds no GPU fails instead of being skipped.
REMATLAS_NEEDS_GPU=1 ctest --preset device || status=1
"$python" bench/runtime/cuda.py build/device/bin --output bench/results/cuda.csv "$@" || status=1
exit $status
