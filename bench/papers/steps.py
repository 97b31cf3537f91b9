"""Records steps for cards that are not installed, and runs the program `rematlas` on them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "runtime" / "python"))

from rematlas.cards.absent_device import AbsentDevice  # noqa: E402
from rematlas.cards.recorded_step import graph_of_step  # noqa: E402

GIB = 2**30


def asked(*words) -> dict:
    """Returns the parsed output of `rematlas WORDS --json`, even if the command finds that the answer is no
    (status 1). If the command fails for another reason, raises RuntimeError with the program's message."""
    program = pathlib.Path(os.environ["REMATLAS_PROGRAMS"]) / "rematlas"
    paths = [str(ROOT / "runtime" / "python"), str(HERE)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "REMATLAS_PYTHON": sys.executable}
    command = [str(program), *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Step:
    """A training step as a graph file. The file is removed at the end of the context.

    with Step(models.resnet101(batch=32), "v100") as step:
        step.solve("--budget", "60%")
    """

    def __init__(self, made, card: str, *, optimizer: str | None = None, autocast: str | None = None):
        """`made`: (model, args, kwargs). `optimizer`: None, sgd (with momentum 0.9) or adamw. `autocast`:
        None, f16 or bf16."""
        model, args, kwargs = made
        options = {"momentum": 0.9} if optimizer == "sgd" else {}
        described = (optimizer, options) if optimizer else None
        plan = graph_of_step(model, args, kwargs, AbsentDevice(card), optimizer=described, autocast=autocast)
        self.whole_peak = plan.answer().whole_peak_bytes  # the peak without recomputation
        self.parameter_bytes = sum(p.nbytes for p in model.parameters() if p.requires_grad)
        text = plan.graph_text()
        ops = json.loads(text)["ops"]
        self.time_ns = sum(op["time_ns"] for op in ops)
        self.forward_ns = sum(op["time_ns"] for op in ops if op["phase"] == "forward")
        self.folder = tempfile.TemporaryDirectory(prefix="rematlas-papers-")
        self.graph = pathlib.Path(self.folder.name) / "step.graph.json"
        self.graph.write_text(text)

    def __enter__(self) -> "Step":
        return self

    def __exit__(self, *_) -> None:
        self.folder.cleanup()

    def resident(self) -> int:
        """Returns the bytes of the tensors that no op makes: parameters, buffers, inputs, optimizer
        states."""
        return asked("inspect", self.graph)["resident_bytes"]

    def solve(self, *options) -> dict:
        """Returns the answer of `rematlas solve`, with the wall time of the command as "wall_seconds"."""
        began = time.perf_counter()
        answer = asked("solve", self.graph, "--quiet", *options)
        return answer | {"wall_seconds": time.perf_counter() - began}

    def factor(self, bytes_needed: float, resident: int) -> float:
        """Returns the peak without recomputation over `bytes_needed`, both without the resident bytes."""
        return (self.whole_peak - resident) / (bytes_needed - resident)
