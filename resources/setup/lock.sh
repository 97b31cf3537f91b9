#!/usr/bin/env bash
# Writes the lock files in resources/setup/locks anew. A lock file lists the versions of all packages that are
# installed into one Python environment, with the SHA-256 digests of their files. Run this script when a
# version in dependencies.sh changes.
#     --check  only says whether each lock file has the packages of dependencies.sh, without the network
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=dependencies.sh
source "$here/dependencies.sh"
uv=$here/../../.venv/bin/uv
is_current=yes

# Writes or checks the lock file $1 of the packages $2.
lock() {
    local file=$here/locks/$1.txt packages=$2 package
    if [ "$mode" = --check ]; then
        for package in $packages; do
            grep -q -e "^$package \\\\$" -e "^$package ; .*\\\\$" "$file" && continue
            echo "resources/setup/locks/$1.txt has not $package: run resources/setup/lock.sh" >&2
            is_current=no
        done
        return
    fi
    tr ' ' '\n' <<<"$packages" |
        env ${PIP_INDEX_URL:+UV_DEFAULT_INDEX="$PIP_INDEX_URL"} ${PIP_CERT:+SSL_CERT_FILE="$PIP_CERT"} \
            "$uv" pip compile -q --no-cache --generate-hashes --universal --python-version 3.11 --no-annotate \
            --no-header - -o "$file"
}

mode=${1:-}
mkdir -p "$here/locks"
lock uv "$python_installer"
lock docs "$python_packages_docs"
for torch in "${!torchvision_of[@]}"; do
    wanted="torch==$torch torchvision==${torchvision_of[$torch]} $python_packages_any_torch"
    [ "$torch" != "$torch_default" ] || wanted+=" $python_packages_tools $python_packages_highs"
    lock "torch-$torch" "$wanted"
done
[ "$is_current" = yes ]
