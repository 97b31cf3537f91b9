#!/usr/bin/env bash
# Makes dist/rematlas-*.tar.gz, the source distribution of the Python package. When pip installs this file, it
# compiles the programs, which needs g++ 12, and nlohmann-json, libsodium and CLI11 with their headers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
copy() {  # FROM TO PATHS...: copies the files of the repository
    (cd "$1" && git ls-files -z "${@:3}" | xargs -0 cp --parents -t "$2")
}
mkdir "$stage/package" "$stage/package/source"
copy "$root/runtime/python" "$stage/package" .
copy "$root" "$stage/package/source" CMakeLists.txt CMakePresets.json LICENSE README.md core runtime/'*.cpp' runtime/'*.h' \
    runtime/'*.txt' runtime/'*.cmake' runtime/'*.cu' viz app/CMakeLists.txt app/cli app/programs resources/desktop resources/devices \
    resources/links resources/hosts resources/rank_links resources/report
cp "$root/LICENSE" "$stage/package/"
echo "graft source" >"$stage/package/MANIFEST.in"
mkdir -p "$root/dist"
cd "$stage/package"
"$root/.venv/bin/python" -m pip install -q --disable-pip-version-check --target "$stage/tools" setuptools
PYTHONPATH=$stage/tools "$root/.venv/bin/python" -c "
import setuptools.build_meta as backend, sys
print(backend.build_sdist(sys.argv[1]))" "$root/dist" >"$stage/said" 2>&1 || { cat "$stage/said"; exit 1; }
ls -l "$root"/dist/rematlas-*.tar.gz
