#!/usr/bin/env bash
# Collects libraries for a build on a machine with a GPU where nothing can be installed. The script copies the
# headers and the static libraries of the packages below, about 8 MB. The machine itself must have a compiler,
# CMake, Ninja, nvcc and a torch wheel.
#     resources/setup/carry.sh [FOLDER]      default: carried/
# Copy the checkout with that folder to the machine and build there:
#     cmake --preset device && cmake --build --preset device
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$here/carried}
packages="nlohmann-json3-dev libsodium-dev libcli11-dev libgtest-dev libgmock-dev"

mkdir -p "$folder"
for package in $packages; do
    dpkg-query -L "$package" | grep -E '^/usr/(include|lib|share/cmake)/' | while read -r file; do
        # Only static libraries are copied: a program would not find a shared library in this folder when it
        # starts.
        if [ -f "$file" ] && [[ $file != *.so* ]]; then
            mkdir -p "$folder$(dirname "$file")"
            cp -L "$file" "$folder$file"
        fi
    done
done
echo "$(du -sh "$folder" | cut -f1) in $folder"
