#!/usr/bin/env bash
# Installs the Debian package in a fresh root of the same Debian release and tests it there:
#     tests/package/package_test.sh build/release
# The folder must contain the package (make package). The test needs root, mmdebstrap and the network. If one
# of them is missing, the test prints the reason and ends with status 77, which ctest counts as skipped. It
# takes about 2 minutes.
set -euo pipefail
build=$1

package=$(find "$build" -maxdepth 1 -name 'rematlas_*.deb' | sort | tail -1)
# shellcheck source=fresh_root.sh
source "$(dirname "${BASH_SOURCE[0]}")/fresh_root.sh"
[ -n "$package" ] || skip "there is no package in $build (make package)"
make_root
cp "$package" "$root/tmp/rematlas.deb"

inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends /tmp/rematlas.deb shared-mime-info desktop-file-utils xdg-utils \
    libglib2.0-bin >/dev/null 2>&1 || { echo "failed: the package cannot be installed"; exit 1; }

graphs=/usr/share/rematlas/graphs
expect "no library is missing" inside sh -c \
    '! for f in /usr/bin/rematlas /usr/bin/rematlas-explorer /usr/lib/rematlas/*; do ldd $f; done | grep "not found"'
expect "the version is told" inside sh -c 'rematlas --version | grep -q "^rematlas [0-9]"'
expect "a sample is solved" inside rematlas solve $graphs/gpt.graph.json --budget 80% --time-limit 10m --gap 1 -o /tmp/s.schedule.json
expect "the answer passes the check" inside rematlas check $graphs/gpt.graph.json /tmp/s.schedule.json
echo '{"format": "rematlas.config", "version": 1, "type": "checkmate", "options": {"milp": "highs", "warm_up": 0}}' >"$root/tmp/checkmate.json"
expect "programmes of HiGHS are solved" inside \
    rematlas solve $graphs/mlp.graph.json --budget 85% --config /tmp/checkmate.json --time-limit 10m
expect "a graph is laid out and drawn" inside rematlas draw $graphs/gpt.graph.json -o /tmp/g.svg
expect "a report is written" inside rematlas report /tmp/s.schedule.json --graph $graphs/gpt.graph.json -o /tmp/r.html
expect "a report is served" inside sh -c \
    "timeout -s TERM 20 rematlas serve $graphs/gpt.graph.json --json | grep -q http://127.0.0.1"
expect "capture says what it needs" inside sh -c \
    'rematlas capture m.pt --input "f32[1]" -o g.graph.json 2>&1 | grep -q "Python package"'
expect "the window is drawn without a display" inside env QT_QPA_PLATFORM=offscreen \
    rematlas-explorer $graphs/gpt.graph.json --screenshot /tmp/window.png
expect "the picture of the window is one" test "$(wc -c <"$root/tmp/window.png")" -gt 20000
expect "the desktop file is sound" inside desktop-file-validate /usr/share/applications/rematlas-explorer.desktop
for kind in graph schedule sweep; do
    echo '{}' >"$root/tmp/x.$kind.json"
    expect "*.$kind.json is known" inside sh -c \
        "gio info -a standard::content-type /tmp/x.$kind.json | grep -q vnd.rematlas.$kind+json"
    expect "*.$kind.json opens in the explorer" inside sh -c \
        "XDG_CURRENT_DESKTOP=X gio mime application/vnd.rematlas.$kind+json | grep -q rematlas-explorer.desktop"
done
expect "the icon is there" test -s "$root/usr/share/icons/hicolor/scalable/apps/rematlas-explorer.svg"
inside apt-get remove -y -qq rematlas >/dev/null 2>&1
expect "nothing is left when it is removed" inside sh -c '! find /usr -name "*rematlas*" | grep .'
echo "$passed checks passed in a fresh Debian $release"
