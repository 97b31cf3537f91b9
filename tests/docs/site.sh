#!/usr/bin/env bash
# Builds the site of the documentation in build/site with the environment .venv-docs, which
# resources/setup/setup.sh --docs makes. The script fails if a link, an anchor or a picture is missing, or if
# the navigation in mkdocs.yml lacks a page.
set -euo pipefail
cd "$(dirname "$0")/../.."
# MkDocs takes only files below docs/ into the site. So the screenshots that pages use are copied to
# docs/pictures/.
rm -rf docs/pictures
mkdir -p docs/pictures build
for name in $(grep -rhoE 'pictures/[A-Za-z0-9_.-]+\.(png|svg)' docs --include='*.md' | sort -u); do
    cp "resources/screenshots/${name#pictures/}" docs/pictures/ || exit 1
done
export NO_MKDOCS_2_WARNING=1  # an advertisement of the theme's authors
.venv-docs/bin/mkdocs build --strict
echo "build/site/index.html"
