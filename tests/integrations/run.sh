#!/usr/bin/env bash
# Trains models and situations with other libraries, writes the tables of the results, and runs the examples
# of training loops. All of them run in the environment .venv-integrations (environment.sh).
#     run.sh FOLDER      FOLDER: the folder with the libraries of a build
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
environment=$root/.venv-integrations
./environment.sh
export PYTHONPATH=$root/runtime/python REMATLAS_PROGRAMS=$1 PYTHONDONTWRITEBYTECODE=1
"$environment/bin/python" table.py --csv "$root/bench/results/integrations.csv"
"$environment/bin/python" situations_table.py --csv "$root/bench/results/situations.csv"
"$environment/bin/python" -m unittest examples_test
