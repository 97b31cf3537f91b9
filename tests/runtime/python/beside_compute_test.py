"""Tests plans whose collectives run while other ops run. The process group makes no hidden copies."""

import json
import os
import pathlib
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

import direct_group  # noqa: F401  (registers the backend "direct")
import rematlas
from dtensors_test import TIMEOUT, Case, SeveralProcesses, run_until_error, train
from parallel_test import free_port
from slow import slow


def graph_of(model) -> dict:
    """Returns the graph from the plan file of the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.plan"
        rematlas.status(model).save(path)
        head, _, rest = path.read_bytes().partition(b"\n")
    return json.loads(rest[: json.loads(head)["graph_bytes"]])


def run(rank, port, case, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group(case.backend, rank=rank, world_size=2, timeout=TIMEOUT)
    wanted, weights, _ = train(case, rank, False)
    losses, found, model = train(case, rank, True)
    (plan,) = rematlas.status(model).plans
    ops = graph_of(model)["ops"]
    results.put(
        {
            "is_same": wanted == losses and all(map(torch.equal, weights, found)),
            "state": rematlas.status(model).state,
            "peaks": (plan.measured_peak_bytes, plan.peak_bytes),
            "queues": {(op["name"].split("::")[1], op["queue"]) for op in ops if "queue" in op},
            "waited_late": dist.group.WORLD.waited_late,
        }
    )
    dist.barrier()
    dist.destroy_process_group()


def run_direct_until_error(*given) -> None:
    """Does the same as `run_until_error`. Processes that call it import this module, which registers the
    backend."""
    run_until_error(*given)


class CollectivesBesideCompute(SeveralProcesses):
    def test_gathers_and_scatters_are_waited_for_where_they_are_needed(self):
        results = multiprocessing.get_context("spawn").SimpleQueue()
        case = Case(words=104, backend="direct")
        multiprocessing.spawn(run, (free_port(), case, results), nprocs=2)
        for found in (results.get(), results.get()):
            self.assertTrue(found["is_same"], "other losses or weights than without a plan")
            self.assertEqual(found["state"], "planned")
            self.assertGreater(found["waited_late"], 0)
            measured, predicted = found["peaks"]
            self.assertLessEqual(measured, predicted)
            self.assertGreater(measured, 0.95 * predicted)
            names = {name for name, _ in found["queues"]}
            self.assertEqual(names, {"all_gather_into_tensor", "reduce_scatter_tensor"})
            self.assertEqual({queue for _, queue in found["queues"]}, {"default_pg"})

    @slow
    def test_the_others_end_with_an_error_when_a_rank_has_ended(self):
        self.expect_errors(run_direct_until_error, Case(words=104, backend="direct", dies_at=9))


if __name__ == "__main__":
    unittest.main()
