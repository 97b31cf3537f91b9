"""Compares the answers of `rematlas inspect` on torch's snapshots and traces with torch's own counters."""

import json
import os
import subprocess
import tempfile
import unittest

import torch

PROGRAM = os.path.join(os.environ["REMATLAS_PROGRAMS"], "rematlas")


def told(path):
    ran = subprocess.run([PROGRAM, "inspect", path, "--json"], capture_output=True, text=True)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr)
    return json.loads(ran.stdout)


def step(model, optimizer):
    loss = model(torch.ones(64, 96, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
class Snapshots(unittest.TestCase):
    def setUp(self):
        layers = [torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.ReLU()) for _ in range(6)]
        self.model = torch.nn.Sequential(*layers).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        step(self.model, self.optimizer)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(lambda: torch.cuda.memory._record_memory_history(enabled=None))

    def snapshot(self, steps, **history):
        """Runs steps. Returns the device's entry in the answer of `inspect`, and torch's own counters at the
        same moment."""
        torch.cuda.memory._record_memory_history(**history)
        torch.cuda.reset_peak_memory_stats()
        for _ in range(steps):
            step(self.model, self.optimizer)
        counted = torch.cuda.memory_stats()
        path = os.path.join(self.folder.name, "snapshot.pickle")
        torch.cuda.memory._dump_snapshot(path)
        return told(path)["devices"][0], counted

    def test_peaks_are_those_that_torch_counts(self):
        device, counted = self.snapshot(3, stacks="python")
        self.assertEqual(device["peak_allocated_bytes"], counted["requested_bytes.all.peak"])
        self.assertEqual(device["peak_reserved_bytes"], counted["reserved_bytes.all.peak"])
        self.assertEqual(device["allocated_at_end_bytes"], counted["requested_bytes.all.current"])
        self.assertEqual(device["segments"]["allocated_bytes"], counted["allocated_bytes.all.current"])
        rounding = counted["allocated_bytes.all.current"] - counted["requested_bytes.all.current"]
        self.assertEqual(device["unknown"]["rounding_bytes"], rounding)
        self.assertEqual(device["unknown"]["lost_frees"], 0)
        self.assertEqual(device["unknown"]["missing_blocks"], 0)
        places = [share["name"] for share in device["alive_at_peak"]]
        self.assertTrue(any(name.startswith("cuda_snapshot_test.py:") for name in places), places)

    def test_the_last_events_alone_lead_to_the_same_end(self):
        device, counted = self.snapshot(3, stacks="python", max_entries=40)
        self.assertLessEqual(device["events"], 40)
        self.assertEqual(device["allocated_at_end_bytes"], counted["requested_bytes.all.current"])
        self.assertEqual(device["reserved_at_end_bytes"], counted["reserved_bytes.all.current"])
        self.assertLessEqual(device["peak_allocated_bytes"], counted["requested_bytes.all.peak"])
        self.assertEqual(device["unknown"]["missing_blocks"], 0)

    def test_a_profile_has_the_same_levels_as_torch(self):
        path = os.path.join(self.folder.name, "trace.json")
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
            step(self.model, self.optimizer)
        profile.export_chrome_trace(path)
        devices = {device["device"]: device for device in told(path)["devices"]}
        end = devices["cuda:0"]["allocated_at_end_bytes"]
        self.assertEqual(end, torch.cuda.memory_allocated())


if __name__ == "__main__":
    unittest.main()
