#!/usr/bin/env bash
# Installs missing Debian packages (with sudo if the user is not root) and makes the Python environment .venv.
# If nothing is missing, the script takes a second. One option may be given:
#     --core           only installs the Debian packages that the build and the core need
#     --explorer       leaves out the Python environment .venv
#     --torch VERSION  also makes the environment .venv-torch-VERSION for builds against that torch
#     --docs           only makes the environment .venv-docs and installs the Debian packages that it needs
#     --appimage       only installs the packages that are needed to build an AppImage
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=dependencies.sh
source "$here/dependencies.sh"

fail() {
    echo "setup: $*" >&2
    exit 1
}

# Prints the names of those packages among the arguments that are missing or too old.
missing_packages() {
    local entry name bound have installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' 2>/dev/null | sed -n 's/^installed //p')
    for entry in "$@"; do
        name=${entry%%>=*}
        bound=${entry#"$name"}
        have=$(awk -v n="$name" '$1 == n { print $2; exit }' <<<"$installed")
        if [ -z "$have" ] || { [ -n "$bound" ] && ! dpkg --compare-versions "$have" ge "${bound#>=}"; }; then
            echo "$name"
        fi
    done
}

install_packages() {
    command -v dpkg-query >/dev/null || fail "this script knows Debian's packages only; install by hand: $*"
    local missing as_root=()
    missing=$(missing_packages "$@")
    [ -z "$missing" ] && return
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    if [ ${#as_root[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
        fail "not root and no sudo; as root, install:" $missing
    fi
    echo "setup: installing" $missing
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
        fail "apt-get update failed; these packages are missing:" $missing
    # shellcheck disable=SC2086
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
        fail "apt-get could not install:" $missing
    missing=$(missing_packages "$@")
    [ -z "$missing" ] || fail "too old in this release of the system (see resources/setup/dependencies.sh):" $missing
}

# Makes the environment $1 with the packages of the lock file $2, unless it has them. Files whose digest
# differs from the lock file are refused. The function uses uv, which takes a third of pip's time. If uv
# fails, the function uses pip: uv does not know all of pip's settings, so it cannot always find the packages.
make_environment() {
    local venv=$root/$1 lock=$here/locks/$2.txt stamp=$root/$1/rematlas-packages
    cmp -s "$lock" "$stamp" && return
    [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" || fail "cannot make the Python environment $1"
    echo "setup: installing the packages of resources/setup/locks/$2.txt into $1$3"
    local pip=("$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes)
    [ -x "$venv/bin/uv" ] || "${pip[@]}" -r "$here/locks/uv.txt" ||
        fail "pip could not install uv: is the package index reachable?"
    local cache=$venv/uv-cache is_installed=yes
    env UV_CACHE_DIR="$cache" ${PIP_INDEX_URL:+UV_DEFAULT_INDEX="$PIP_INDEX_URL"} ${PIP_CERT:+SSL_CERT_FILE="$PIP_CERT"} \
        "$venv/bin/uv" pip install -q --python "$venv/bin/python" --compile-bytecode --require-hashes -r "$lock" || is_installed=no
    rm -rf "$cache"
    [ "$is_installed" = yes ] || "${pip[@]}" -r "$lock" ||
        fail "neither uv nor pip could install the packages of $lock: is the package index reachable?"
    cp "$lock" "$stamp"
}

# Makes the environment $1 with version $2 of torch.
make_torch_environment() {
    [ -n "${torchvision_of[$2]:-}" ] || fail "torch $2 is not known here; there are ${!torchvision_of[*]} (resources/setup/dependencies.sh)"
    make_environment "$1" "torch-$2" " (about 5 GB on disk)"
}

case "${1:-} $#" in
    " 0" | "--core 1" | "--explorer 1" | "--torch 2" | "--docs 1" | "--appimage 1") ;;
    *) fail "unknown options, or too many: $* (the first lines of resources/setup/setup.sh describe the options)" ;;
esac
if [ "${1:-}" = --docs ]; then
    # shellcheck disable=SC2086
    install_packages $packages_docs
    make_environment .venv-docs docs ""
    exit
fi
if [ "${1:-}" = --appimage ]; then
    # shellcheck disable=SC2086
    install_packages $packages_appimage
    exit
fi
packages="$packages_build $packages_core"
[ "${1:-}" = --core ] || packages+=" $packages_pictures $packages_serve $packages_explorer $packages_browser"
# shellcheck disable=SC2086
install_packages $packages
case ${1:-} in
    --core | --explorer) ;;
    --torch)
        # Both environments are downloaded and unpacked at the same time.
        make_torch_environment .venv "$torch_default" &
        default=$!
        make_torch_environment ".venv-torch-$2" "$2"
        wait "$default"
        ;;
    *) make_torch_environment .venv "$torch_default" ;;
esac
