#!/usr/bin/env bash
# Builds the documentation into build/site with .venv-docs (resources/setup/setup.sh --docs makes it). Fails where a
# link, an anchor or a picture is missing, and where a page is not in the navigation of mkdocs.yml.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Pages name copies of the screenshots, for a site takes in nothing from outside of its own folder.
rm -rf docs/pictures
mkdir -p docs/pictures build
for name in $(grep -rhoE 'pictures/[A-Za-z0-9_.-]+\.(png|svg)' docs --include='*.md' | sort -u); do
    cp "resources/screenshots/${name#pictures/}" docs/pictures/ || exit 1
done
export NO_MKDOCS_2_WARNING=1  # an advertisement of the theme's authors
.venv-docs/bin/mkdocs build --strict
echo "build/site/index.html"
