"""In each version of torch, ops are recorded after the program's dispatch modes and tensor classes have
handled them, and before the kernels run."""

import json
import os
import socket
import unittest
import warnings

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate
from torch.utils._python_dispatch import TorchDispatchMode

import rematlas
from rematlas.api import graph_of
from traps_modes import Offset, OtherGelu, ToOffset

torch.set_num_threads(1)
ROWS = torch.randn(64, 32, generator=torch.Generator().manual_seed(0))


def blocks():
    return nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU())


LOG = os.memfd_create("ops")  # a file, because changes of a list would be changes of the program's state


class Seen(TorchDispatchMode):
    """Logs the name of each op, and changes nothing."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        os.write(LOG, f"{function.name()}\n".encode())
        return function(*args, **(kwargs or {}))


def logged() -> list:
    """Returns the names that were logged since the last call."""
    os.lseek(LOG, 0, os.SEEK_SET)
    names = os.read(LOG, 1 << 20).decode().split()
    os.ftruncate(LOG, 0)
    os.lseek(LOG, 0, os.SEEK_SET)
    return names


def recorded(model: nn.Module) -> list:
    """Returns the names of the ops of a step, in order."""
    return [op["name"] for op in json.loads(graph_of(model, (ROWS,)))["ops"]]


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = blocks()

    def forward(self, x):
        return self.layers(x)


class Order(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        warnings.simplefilter("ignore")

    def test_what_a_mode_replaces_an_op_by_is_recorded(self):
        class Within(Plain):
            def forward(self, x):
                with OtherGelu():
                    return self.layers(x)

        self.assertEqual(recorded(Plain()).count("aten::gelu"), 2)
        names = recorded(Within())
        self.assertEqual(names.count("aten::gelu"), 0)
        self.assertEqual(names.count("aten::sigmoid"), 2)

    def test_a_mode_of_the_program_sees_what_it_sees_in_plain_training(self):
        class Within(Plain):
            def forward(self, x):
                with Seen():
                    return self.layers(x)

        model = Within()
        model(ROWS)
        plain = logged()
        self.assertGreater(len(plain), 3)
        self.assertEqual(recorded(model), recorded(Plain()))
        seen = logged()
        self.assertEqual(seen, plain * (len(seen) // len(plain)), "in each forward")

    def test_what_runs_on_fake_tensors_is_not_recorded(self):
        """In torch before 2.13, recordings see the kernels that compute with fake tensors, and are refused.
        Later versions hide these kernels."""

        class Measured(Plain):
            def forward(self, x):
                with FakeTensorMode():
                    nn.functional.gelu(torch.empty(x.shape).matmul(torch.empty(32, 7)))
                return self.layers(x)

        try:
            self.assertEqual(recorded(Measured()), recorded(Plain()))
        except rematlas.Refused as refused:
            self.assertIn("runs on fake tensors within the step", str(refused))

    def test_the_ops_below_a_class_of_tensors_are_recorded(self):
        class Below(Plain):
            def forward(self, x):
                x = ToOffset.apply(self.layers(x))
                assert isinstance(x, Offset)
                return (x * 2.0).exp()

        names = recorded(Below())
        self.assertGreaterEqual(names.count("aten::mul"), 2, "one for each tensor that the class holds")

    def test_the_ops_below_a_distributed_tensor_are_recorded(self):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            address = f"tcp://localhost:{free.getsockname()[1]}"
        torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        mesh = init_device_mesh("cpu", (1,))

        class Distributed(Plain):
            def forward(self, x):
                x = DTensor.from_local(self.layers(x), mesh, [Replicate()], run_check=False)
                return nn.functional.silu(x).to_local()

        class Local(Plain):
            def forward(self, x):
                return nn.functional.silu(self.layers(x))

        self.assertEqual(recorded(Distributed()), recorded(Local()))


if __name__ == "__main__":
    unittest.main()
