#!/usr/bin/env bash
# Tests the AppImage in a fresh Debian root that has the libraries of a desktop, but no Qt, no Graphviz and no
# FUSE:
#     tests/package/appimage_test.sh dist/Rematlas-x86_64.AppImage
# The test needs root, mmdebstrap and the network, and ends with status 77 if one of them is missing. It takes
# about a minute.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=$1
# shellcheck source=fresh_root.sh
source "$here/fresh_root.sh"
make_root
cp "$image" "$root/tmp/Rematlas.AppImage"
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends libgl1 libx11-xcb1 libfontconfig1 libfreetype6 libharfbuzz0b \
    libglib2.0-0 libstdc++6 fonts-dejavu-core xvfb xauth >/dev/null 2>&1 || { echo "failed: the root has no desktop"; exit 1; }
cp "$here/../../resources/graphs/gpt.graph.json" "$root/tmp/"

run=/tmp/Rematlas.AppImage
expect "the window is drawn without a display" inside env QT_QPA_PLATFORM=offscreen \
    $run /tmp/gpt.graph.json --screenshot /tmp/window.png
expect "the picture of the window is one" test "$(wc -c <"$root/tmp/window.png")" -gt 20000
expect "the window is drawn on a display" inside env DBUS_SESSION_BUS_ADDRESS=disabled: xvfb-run -a $run /tmp/gpt.graph.json --screenshot /tmp/shown.png
expect "the picture of that window is one" test "$(wc -c <"$root/tmp/shown.png")" -gt 20000
expect "it is unpacked once" inside sh -c 'test "$(ls -d /root/.cache/rematlas/appimage-* | wc -l)" = 1'
expect "no library is missing" inside sh -c \
    '! find /root/.cache/rematlas -type f \( -perm -u+x -o -name "*.so*" \) -exec ldd {} + 2>/dev/null | grep "not found"'
expect "a home that cannot be written to is none" inside env HOME=/proc QT_QPA_PLATFORM=offscreen \
    $run /tmp/gpt.graph.json --screenshot /tmp/homeless.png
expect "another name is the command line" inside ln -s $run /tmp/rematlas
expect "a sample is solved" inside /tmp/rematlas solve /tmp/gpt.graph.json --budget 80% --time-limit 10m --gap 1 -o /tmp/s.schedule.json
expect "a graph is laid out and drawn" inside /tmp/rematlas draw /tmp/gpt.graph.json -o /tmp/g.svg
expect "the picture has blocks" inside grep -q "<rect\|<path" /tmp/g.svg
expect "its files can be looked at" inside sh -c 'cd /tmp && ./Rematlas.AppImage --appimage-extract && test -x squashfs-root/AppRun'
expect "a damaged file says so" inside sh -c \
    'cd /tmp && head -c 3000000 Rematlas.AppImage >cut && chmod +x cut && ! env HOME=/tmp/other ./cut 2>said && grep -q "rematlas: the AppImage cannot" said'
expect "nothing half is left behind" inside sh -c '! ls -d /tmp/other/.cache/rematlas/appimage-* 2>/dev/null'
echo "$passed checks passed in a fresh Debian $release"
