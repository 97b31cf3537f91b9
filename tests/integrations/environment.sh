#!/usr/bin/env bash
# Makes the Python environment .venv-integrations, which shares torch with .venv. It has the libraries that
# the tables of models and situations, the examples of training loops and the documentation's pages need. If
# nothing is missing, the script takes a moment.
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
