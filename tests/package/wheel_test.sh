#!/usr/bin/env bash
# Installs the wheel in fresh environments, each with another version of torch, and trains there as README.md
# says:
#     tests/package/wheel_test.sh dist/rematlas-*.whl 2.11.0 2.13.0 2.15.0
# If the wheel has no build for a version, it must say so in one line, compile itself, and then train. Each
# version takes about 5 GB of disk, which is freed again, and 3 minutes, or some minutes more if the wheel
# compiles itself.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
wheel=$(realpath "$1")
shift
root=$(mktemp -d /tmp/rematlas_wheel.XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
cd "$root"

fail() {
    echo "failed: $*"
    exit 1
}
for version in "$@"; do
    env=$root/torch-$version
    python3 -m venv "$env"
    "$env/bin/pip" install -q --disable-pip-version-check "torch==$version" numpy "$wheel"
    # shellcheck disable=SC1091
    . "$env/bin/activate"
    if ! said=$(python -c "import rematlas" 2>&1); then
        said=$(tail -1 <<<"$said")
        grep -q "there are builds for torch .*python -m rematlas build" <<<"$said" || fail "torch $version: $said"
        echo "$said"
        said=$(rematlas capture none.pt --input "f32[1]" -o none.graph.json 2>&1) && fail "none.pt is captured"
        grep -q "python -m rematlas build" <<<"$said" || fail "the command line does not say what to do: $said"
        python -m rematlas build || fail "torch $version: it does not compile"
    fi
    python "$here/wheel_example.py" || fail "torch $version: the example"
    python -W ignore -c "
import torch
layers = [make() for _ in range(6) for make in (lambda: torch.nn.Linear(32, 32), torch.nn.Tanh)]
torch.jit.trace(torch.nn.Sequential(*layers), torch.randn(512, 32)).save('model.pt')"
    rematlas capture model.pt --input "f32[512,32]" -o model.graph.json
    rematlas solve model.graph.json --budget 80% -o model.schedule.json
    rematlas run model.pt model.schedule.json --verify || fail "torch $version: a plan of the command line"
    began=$(date +%s%N)
    rematlas --version
    [ $(($(date +%s%N) - began)) -lt 1000000000 ] || fail "a command that needs no torch takes a second"
    deactivate
    rm -rf "$env"
    echo "passed: torch $version"
done
