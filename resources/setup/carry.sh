#!/usr/bin/env bash
# Collects what the build needs beyond a compiler, CMake, Ninja, nvcc and a torch wheel, for a machine with a GPU where
# nothing can be installed: headers and static libraries of the packages below, about 8 MB.
#     resources/setup/carry.sh [FOLDER]      default: carried/
# Copy the checkout with that folder to the machine; there: cmake --preset device && cmake --build --preset device
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$here/carried}
packages="nlohmann-json3-dev libsodium-dev libcli11-dev libgtest-dev libgmock-dev"

mkdir -p "$folder"
for package in $packages; do
    dpkg-query -L "$package" | grep -E '^/usr/(include|lib|share/cmake)/' | while read -r file; do
        # Static libraries only: a shared one would not be found when the program starts.
        if [ -f "$file" ] && [[ $file != *.so* ]]; then
            mkdir -p "$folder$(dirname "$file")"
            cp -L "$file" "$folder$file"
        fi
    done
done
echo "$(du -sh "$folder" | cut -f1) in $folder"
