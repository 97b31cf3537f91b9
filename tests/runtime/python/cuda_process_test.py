"""A plan does not disturb the state of the training process on a GPU, and takes account of this state.

Each case runs in its own process, on the stand-in for a GPU (tests/simgpu) or on a GPU."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import traceback
import unittest

# All cases are forks of this process, made after these imports, because the imports take longer than most of
# the tests.
import torch  # noqa: F401

import rematlas  # noqa: F401

START = """
import ctypes, os, warnings
import torch
import rematlas
device = torch.device("cuda", int(os.environ.get("DEVICE", 0)))

def build():
    torch.manual_seed(0)
    blocks = (layer for _ in range(6) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU()))
    return torch.nn.Sequential(*blocks).to(device)

def rows(step):
    return torch.randn(512, 256, generator=torch.Generator().manual_seed(step)).to(device)

def train(module, steps=8):
    peaks = []
    for step in range(steps):
        x = rows(step)
        torch.cuda.reset_peak_memory_stats(device)
        module(x).square().mean().backward()
        peaks.append(torch.cuda.max_memory_allocated(device))
        module.zero_grad()
        if module._compiled_call_impl is not None:
            rematlas.status(module).wait()
    return peaks

def planned(budget, steps=8, **options):
    module = rematlas.apply(build(), budget, time_limit=0.3, **options)
    return module, train(module, steps)
"""


class ProcessCase(unittest.TestCase):
    def run_process(self, text, status=0, **environment):
        """Runs the text of a program in a fork of this process. Returns its standard output and standard
        error."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = os.fork()
            if process == 0:
                run_and_exit(text, environment, out, err)
            _, ended = os.waitpid(process, 0)
            told = []
            for file in (out, err):
                file.seek(0)
                told.append(file.read().strip())
        self.assertEqual(os.waitstatus_to_exitcode(ended), status, "\n".join(told))
        return told

    def run_new_process(self, text, status=0, **environment):
        """Runs the text of a program in a new process, for settings that libtorch reads only when it is
        loaded."""
        done = subprocess.run(
            [sys.executable, "-c", START + textwrap.dedent(text)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout.strip(), done.stderr.strip()

    def needs_the_stand_in(self):
        if "simgpu" not in os.environ.get("LD_PRELOAD", ""):
            self.skipTest("asks the stand-in for a GPU")


def run_and_exit(text, environment, out, err):
    """Runs the text of a program, and then ends the process. Must be called in a forked process that has not
    touched the device."""
    status = 1
    try:
        os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
        os.environ.update(environment)
        exec(compile(START + textwrap.dedent(text), "case", "exec"), {"__name__": "__main__"})
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(status)


class Budgets(ProcessCase):
    def whole(self, where=""):
        """Returns the bytes that are allocated before the first step, and the peak bytes of training without
        a plan."""
        text = f"""
        {where}
        module = build()
        x = rows(0)
        print(torch.cuda.memory_allocated(device))
        print(max(train(module)))
        """
        return map(int, self.run_process(text)[0].split())

    def test_the_first_backward_is_within_it(self):
        before, whole = self.whole()
        out, _ = self.run_process(
            f"module, peaks = planned({whole - 3_000_000}); print(max(peaks), rematlas.status(module).state,"
            " rematlas.status(module).replayed)"
        )
        peak, state, replayed = out.split()
        self.assertEqual(state, "planned")
        self.assertGreaterEqual(int(replayed), 4)
        self.assertLessEqual(int(peak), whole - 3_000_000)

    def test_on_a_stream_of_the_callers(self):
        side = "torch.cuda.set_stream(torch.cuda.Stream(device))"
        before, whole = self.whole(side)
        out, _ = self.run_process(
            f"{side}\nmodule, peaks = planned({whole - 3_000_000}); print(max(peaks),"
            " rematlas.status(module).state)"
        )
        peak, state = out.split()
        self.assertEqual(state, "planned")
        self.assertLessEqual(int(peak), whole - 3_000_000)

    def test_streams_may_change(self):
        before, whole = self.whole(
            "torch.cuda.set_stream(torch.cuda.Stream(device)); train(build(), 1);"
            " torch.cuda.set_stream(torch.cuda.default_stream(device))"
        )
        out, _ = self.run_process(f"""
        module, _ = planned({whole - 3_000_000})
        torch.cuda.set_stream(torch.cuda.Stream(device))
        peaks = train(module)
        print(max(peaks), rematlas.status(module).state)
        """)
        peak, state = out.split()
        self.assertEqual(state, "planned")
        self.assertLessEqual(int(peak), whole - 3_000_000)


class Callers(ProcessCase):
    """Work that the caller does on the device besides the plan."""

    def test_a_graph_that_the_caller_records(self):
        text = """
        def recorded(module, first):
            train(module, first)
            x = rows(0)
            graph = torch.cuda.CUDAGraph()
            module.zero_grad()
            with torch.cuda.graph(graph):
                loss = module(x).square().mean()
                loss.backward()
            graph.replay()
            return [loss.item()] + [parameter.grad.cpu() for parameter in module.parameters()]

        for first in (2, 7):
            module = rematlas.apply(build(), "90%", time_limit=0.3)
            plain, ours = recorded(build(), first), recorded(module, first)
            assert plain[0] == ours[0] and all(map(torch.equal, plain[1:], ours[1:]))
            status = rematlas.status(module)
            assert status.replayed >= (3 if first == 7 else 0), status.reason
        """
        self.run_process(text)

    def test_peaks_that_the_caller_reads_are_the_processes(self):
        text = """
        def seen(module):
            torch.cuda.reset_peak_memory_stats(device)
            peaks = []
            for step in range(8):
                module(rows(step)).square().mean().backward()
                module.zero_grad()
                peaks.append((torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)))
                if module._compiled_call_impl is not None:
                    rematlas.status(module).wait()
            return peaks

        module = rematlas.apply(build(), "90%", time_limit=0.3)
        peaks = seen(module)
        assert rematlas.status(module).replayed >= 3
        assert peaks == sorted(peaks), peaks
        rematlas.remove(module)
        del module
        plain = seen(build())
        assert peaks[0][0] >= plain[0][0], (peaks, plain)
        """
        self.run_process(text)

    def test_a_step_that_the_device_has_no_room_for_is_planned_after_one_error(self):
        self.needs_the_stand_in()
        text = """
        def steps(module):
            failed = []
            for step in range(5):
                x = rows(step).repeat(12, 1)
                try:
                    loss = module(x).square().mean()
                    loss.backward()
                except torch.OutOfMemoryError:
                    failed.append(step)
                loss = x = None
                module.zero_grad()
            return failed

        module = build()
        if os.environ["PLAN"]:
            rematlas.apply(module, os.environ["PLAN"], time_limit=0.3)
        print(*steps(module), "end")
        if os.environ["PLAN"]:
            print(rematlas.status(module).state, rematlas.status(module).replayed)
        free, total = torch.cuda.mem_get_info()
        print(total - free)
        """
        whole = int(self.run_process(text, PLAN="")[0].split()[-1])
        memory = str(whole - 30_000_000)
        failed = self.run_process(text, PLAN="", SIMGPU_MEMORY=memory)[0].split()[:5]
        self.assertEqual(failed, [str(step) for step in range(5)])
        out = self.run_process(text, PLAN="60%", SIMGPU_MEMORY=memory)[0].split("end")
        self.assertLessEqual(len(out[0].split()), 1, out)
        state, replayed, _ = out[1].split()
        self.assertEqual(state, "planned")
        self.assertGreaterEqual(int(replayed), 3)


class Device(ProcessCase):
    def test_it_must_have_what_the_plan_says(self):
        self.needs_the_stand_in()
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "a.plan"
            save = f"""
            module, _ = planned("70%")
            rematlas.status(module).save({str(plan)!r})
            rematlas.remove(module)
            module = rematlas.apply(module, plan={str(plan)!r})
            rematlas.status(module)
            """
            self.run_process(save)
            load = f"""
            module = rematlas.load(build(), {str(plan)!r}, verify=0)
            gpu = ctypes.CDLL(None)
            gpu.simgpu_peak.restype = ctypes.c_longlong
            train(module, 3)
            info = rematlas.status(module).plans[0]
            print(info.device_bytes, gpu.simgpu_peak(0), info.reserved_peak_bytes, rematlas.status(module).replayed)
            """
            out, _ = self.run_process(load)
            must_have, took, reserved, replayed = map(int, out.split())
            self.assertEqual(replayed, 3)
            self.run_process(load, SIMGPU_MEMORY=str(max(must_have, took)))
            _, err = self.run_process(load, status=1, SIMGPU_MEMORY=str(took - reserved))
            self.assertRegex(err.splitlines()[-1], "out of memory|CUDA out of memory")

    def test_another_index(self):
        out, _ = self.run_process(
            """
        module, peaks = planned("70%")
        print(rematlas.status(module).state, torch.cuda.memory_allocated(0))
        """,
            DEVICE="1",
        )
        self.assertEqual(out, "planned 0")

    def test_another_gpu_is_not_the_plans(self):
        self.needs_the_stand_in()
        with tempfile.TemporaryDirectory() as folder:
            plan = str(pathlib.Path(folder) / "a.plan")
            self.run_process(f'module, _ = planned("70%"); rematlas.status(module).save({plan!r})')
            load = f'module = rematlas.load(build(), {plan!r}, on_refuse="raise"); train(module, 1)'
            self.run_process(load)
            _, err = self.run_process(load, status=1, SIMGPU_SMS="24")
            self.assertIn("on a GPU of 16 multiprocessors and cannot run on one of 24", err)
            _, err = self.run_process(load, status=1, SIMGPU_NAME="Another GPU")
            self.assertIn("captured on Stand-in GPU and cannot run on Another GPU", err)


class Settings(ProcessCase):
    def test_other_settings_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = str(pathlib.Path(folder) / "a.plan")
            self.run_process(f'module, _ = planned("70%"); rematlas.status(module).save({plan!r})')
            for setting, told in (
                ("torch.use_deterministic_algorithms(True)", "torch.use_deterministic_algorithms was off"),
                (
                    "torch.backends.cuda.matmul.allow_tf32 = True",
                    "torch.backends.cuda.matmul.fp32_precision was",
                ),
                ("torch.backends.cuda.enable_flash_sdp(False)", "flash_sdp_enabled() was on"),
                ("torch.backends.cudnn.deterministic = True", "torch.backends.cudnn.deterministic was off"),
            ):
                load = f'{setting}\nmodule = rematlas.load(build(), {plan!r}, on_refuse="raise"); train(module, 1)'
                _, err = self.run_process(load, status=1, CUBLAS_WORKSPACE_CONFIG=":4096:8")
                self.assertIn(told, err)

    def test_a_setting_that_changes_between_steps_runs_no_plan_of_the_other(self):
        out, _ = self.run_process("""
        module, _ = planned("70%")
        replayed = rematlas.status(module).replayed
        torch.backends.cuda.enable_flash_sdp(False)
        train(module, 1)
        print(rematlas.status(module).replayed - replayed)
        """)
        self.assertEqual(out, "0")

    def test_kernels_that_are_chosen_by_their_times_are_refused(self):
        _, err = self.run_process(
            """
        torch.cuda.init()
        torch.backends.cudnn.enabled = torch.backends.cudnn.benchmark = True
        planned("70%", on_refuse="raise")
        """,
            status=1,
        )
        self.assertIn("torch.backends.cudnn.benchmark is on", err)

    def test_allocators_that_cannot_be_planned_for_are_named(self):
        for variable, value, told in (
            ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "the allocator cudaMallocAsync"),
            ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:4", "roundup_power2_divisions"),
            ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "PYTORCH_NO_CUDA_MEMORY_CACHING"),
        ):
            _, err = self.run_new_process('planned("70%", on_refuse="raise")', status=1, **{variable: value})
            self.assertIn(told, err.splitlines()[-1])

    def test_the_process_keeps_its_own(self):
        out, _ = self.run_process("""
        def settings():
            snapshot = torch.cuda.memory._snapshot()["allocator_settings"]
            return (snapshot["expandable_segments"], torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark,
                    torch.cuda.current_device(), torch.cuda.current_stream(), torch.backends.cuda.flash_sdp_enabled())

        torch.ones(1, device=device)
        before = settings()
        module, _ = planned("70%")
        assert settings() == before, (before, settings())
        torch.cuda.reset_peak_memory_stats(device)
        torch.empty(1 << 27, device=device)
        peak = torch.cuda.max_memory_allocated(device)
        module(rows(1)).square().mean().backward()
        assert torch.cuda.max_memory_allocated(device) == peak
        print(rematlas.status(module).replayed)
        """)
        self.assertGreaterEqual(int(out), 4)

    def test_planned_steps_do_not_wait_for_the_device(self):
        self.needs_the_stand_in()
        self.run_process("""
        module, _ = planned("70%")
        x = rows(1)
        torch.cuda.synchronize()
        gpu = ctypes.CDLL(None)
        assert gpu.simgpu_set_order(b"lazy") == 1
        loss = module(x).square().mean()
        loss.backward()
        assert not torch.cuda.current_stream().query()
        assert rematlas.status(module).replayed >= 4
        """)


if __name__ == "__main__":
    unittest.main()
