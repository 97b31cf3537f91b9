# Tests of packages source this file to get a fresh Debian root. `make_root` makes the root in the folder
# $root, `inside` runs a command in it, and `expect` runs a check. If root, mmdebstrap or the network is
# missing, the test ends with status 77, which ctest counts as skipped.
passed=0
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

skip() {
    echo "skipped: $*"
    exit 77
}

make_root() {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    command -v mmdebstrap >/dev/null || skip "needs mmdebstrap (apt-get install mmdebstrap)"
    root=$(mktemp -d /tmp/rematlas_root.XXXXXX)
    trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
    chmod 755 "$root"
    mmdebstrap --quiet --variant=minbase "$release" "$root" || skip "no Debian root could be made (is the network there?)"
    mount -t proc proc "$root/proc" || skip "/proc cannot be mounted, by which programs find their libraries"
}

inside() {
    chroot "$root" env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

expect() {  # NAME COMMAND...: the command ends with status 0
    local name=$1
    shift
    if "$@" >"$root/tmp/said" 2>&1; then
        passed=$((passed + 1))
    else
        echo "failed: $name"
        tail -20 "$root/tmp/said"
        exit 1
    fi
}
