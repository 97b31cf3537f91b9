#!/usr/bin/env bash
# The tables of models and of situations, and the examples of training loops, in the environment
# .venv-integrations, which shares torch with .venv. run.sh FOLDER, the folder with the libraries of a build.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
environment=$root/.venv-integrations
stamp=$environment/requirements.txt
if ! cmp -s requirements.txt "$stamp"; then
    [ -x "$environment/bin/python" ] || "$root/.venv/bin/python" -m venv "$environment"
    packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$root/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$packages/torch-of-the-build.pth"
    "$environment/bin/python" -m pip install -q --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$stamp"
fi
export PYTHONPATH=$root/runtime/python REMATLAS_PROGRAMS=$1 PYTHONDONTWRITEBYTECODE=1
"$environment/bin/python" table.py --csv "$root/bench/results/integrations.csv"
"$environment/bin/python" situations_table.py --csv "$root/bench/results/situations.csv"
"$environment/bin/python" -m unittest examples_test
