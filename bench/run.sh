#!/usr/bin/env bash
# Runs the benches and writes their CSV files (name,run,value,unit) to bench/results/.
#     bench/run.sh BIN [PROBLEMS]
# PROBLEMS is a folder with files NAME.graph.json and reference.json. It is $REMATLAS_PROBLEMS by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
problems=${2:-${REMATLAS_PROBLEMS:-}}
mkdir -p "$here/results"

python=$here/../.venv/bin/python
"$python" "$here/runtime/replay.py" "$bin" | tee "$here/results/replay_cpu.csv"
"$python" "$here/runtime/replay.py" "$bin" --whole --budgets 100% --pairs 9 | tee "$here/results/replay_whole_cpu.csv"
REMATLAS_PROGRAMS=$bin "$python" "$here/runtime/apply.py" --output "$here/results/apply_cpu.csv"
REMATLAS_PROGRAMS=$bin "$python" "$here/runtime/evict.py" --output "$here/results/evict_cpu.csv"
"$python" "$here/runtime/roofline.py" "$bin" | tee "$here/results/roofline_cpu.csv"
# The comparison with published results takes about 30 minutes. It writes papers.csv, and papers.png if
# matplotlib is installed.
if "$python" -c 'import timm, torchvision, transformers' 2>/dev/null; then
    REMATLAS_PROGRAMS=$bin "$python" "$here/papers/papers.py" --output "$here/results/papers.csv" \
        --picture "$here/results/papers.png"
fi
# The comparison with torch.compile takes about an hour.
REMATLAS_PROGRAMS=$bin "$python" "$here/compile/compile.py" --output "$here/results/compile_cpu.csv"
"$python" "$here/compile/claims.py" "$here/results/compile_cpu.csv" || true
REMATLAS_PROGRAMS=$bin "$python" "$here/several_gpus/fsdp.py" --output "$here/results/fsdp_cpu.csv"
"$python" "$here/papers/page.py"  # the tables of docs/papers.md
if command -v chromium >/dev/null; then
    python3 "$here/browser/report_page.py" "$bin" | tee "$here/results/browser.csv"
fi
if [ -x "$bin/bench_explorer" ]; then
    {
        echo name,run,value,unit
        for graph in layered:735 layered:2500 layered:10003 irregular:2500 irregular:10000 "$problems"/gpt48b64.graph.json; do
            case $graph in *.json) [ -f "$graph" ] || continue ;; esac
            "$bin/bench_explorer" "$graph" 3
        done
    } | tee "$here/results/explorer.csv"
fi
if [ -x "$bin/bench_least_memory" ]; then
    "$bin/bench_least_memory" "$problems"/*.graph.json | tee "$here/results/least_memory.csv"
fi
if [ -x "$bin/bench_scale" ]; then
    { "$bin/bench_scale" hiremate 300; "$bin/bench_scale" atlas 20 | grep -v '^name'; } | tee "$here/results/scale.csv"
    "$python" -c 'import matplotlib' 2>/dev/null &&
        "$python" "$here/solvers/scale_picture.py" "$here/results/scale.csv" "$here/results/scale.png"
fi
if [ -x "$bin/bench_chains" ]; then
    { "$bin/bench_chains"; "$bin/bench_chains" atlas 10 256 512 | grep -v '^name'; } | tee "$here/results/chains.csv"
fi
if [ -x "$bin/bench_transfers" ]; then
    "$bin/bench_transfers" | tee "$here/results/transfers.csv"
fi
if [ -x "$bin/bench_copy_bounds" ]; then
    graphs=()
    for name in gpt12b64 gpt48b64 irr500; do
        [ -f "$problems/$name.graph.json" ] && graphs+=("$problems/$name.graph.json")
    done
    "$bin/bench_copy_bounds" "${graphs[@]}" | tee "$here/results/bounds_with_copies.csv"
fi
if [ -x "$bin/bench_offmate" ]; then
    graphs=()
    for name in gpt12b64 gpt48b64 irr500; do
        [ -f "$problems/$name.graph.json" ] && graphs+=("$problems/$name.graph.json")
    done
    "$bin/bench_offmate" 20 "${graphs[@]}" adamw | tee "$here/results/offmate.csv"
    "$bin/bench_copies" "${graphs[@]}" | tee "$here/results/copies.csv"
fi
if [ -x "$bin/bench_monotony" ]; then
    "$bin/bench_monotony" "$here"/../resources/graphs/*.graph.json "$problems"/*.graph.json | tee "$here/results/monotony.csv"
    # The environment .venv-integrations, which has torchvision, exists only if
    # tests/integrations/environment.sh has run.
    if "$here/../.venv-integrations/bin/python" -c 'import torchvision' 2>/dev/null; then
        captured=$(mktemp -d)
        "$here/../.venv-integrations/bin/python" "$here/solvers/torchvision_graphs.py" "$bin/rematlas" "$captured"
        "$bin/bench_monotony" "$captured"/*.graph.json | tee "$here/results/monotony_captured.csv"
        rm -r "$captured"
    fi
fi
if [ -x "$bin/bench_snapshot" ]; then
    "$bin/bench_snapshot" | tee "$here/results/snapshot.csv"
fi
if [ -x "$bin/bench_eviction" ]; then
    "$bin/bench_eviction" | tee "$here/results/eviction.csv"
fi
if [ -f "$problems/reference.json" ]; then
    python3 "$here/solvers/reference.py" "$bin" "$problems" | tee "$here/results/solvers.csv"
    {
        python3 "$here/solvers/bounds.py" "$bin" "$problems"
        if [ -x "$bin/bench_atlas" ]; then "$bin/bench_atlas" gpt 10 | grep -vE '^name| first,| last,'; fi
    } | tee "$here/results/bounds.csv"
    "$python" -c 'import matplotlib' 2>/dev/null &&
        "$python" "$here/solvers/picture.py" "$here/results/solvers.csv" "$here/results/solvers.png"
    if [ -x "$bin/bench_least_peak" ]; then
        "$bin/bench_least_peak" 12 "$here"/../resources/graphs/*.graph.json "$problems"/*.graph.json | tee "$here/results/least_peak.csv"
    fi
    python3 "$here/solvers/dtr.py" "$bin" "$problems/dtr" | tee "$here/results/dtr.csv"
else
    echo "no reference problems at $problems: solvers not benched (REMATLAS_PROBLEMS names the folder)"
fi
