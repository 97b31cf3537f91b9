#!/usr/bin/env bash
# Makes the environment .venv-integrations, with the libraries of the tables, of the examples and of the
# documentation's pages. It shares torch with .venv. Takes a moment when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
environment=$root/.venv-integrations
stamp=$environment/requirements.txt
cmp -s requirements.txt "$stamp" && exit
[ -x "$environment/bin/python" ] || "$root/.venv/bin/python" -m venv "$environment"
packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$root/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$packages/torch-of-the-build.pth"
"$environment/bin/python" -m pip install -q --disable-pip-version-check -r requirements.txt
cp requirements.txt "$stamp"
