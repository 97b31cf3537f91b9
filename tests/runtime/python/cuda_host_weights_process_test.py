"""Trains a model on a device that has only a tenth of the memory of the model's plain step. The software
stand-in for a GPU (tests/simgpu) enforces this limit.

Each case runs in its own process; this process does not touch the device."""

import unittest

from cuda_process_test import ProcessCase
from slow import slow

TEXT = """
    import sys
    sys.path.insert(0, os.getcwd())
    import models
    from torch import nn

    gpu = ctypes.CDLL(None)
    gpu.simgpu_used.restype = gpu.simgpu_peak.restype = ctypes.c_longlong
    gpu.simgpu_set_memory.argtypes = [ctypes.c_longlong]
    MICRO, CLIP, STEPS = int(os.environ.get("MICRO", 1)), float(os.environ.get("CLIP", 0)), int(os.environ.get("STEPS", 5))
    SCALED = "SCALED" in os.environ
    scaler = torch.amp.GradScaler("cuda", init_scale=1000.0, growth_interval=2, enabled=SCALED)

    def gpt():
        torch.manual_seed(0)
        with torch.device("cpu"):
            return models.export.Gpt(layers=12, width=384, heads=4, length=32, vocabulary=384, dropout=0.1)

    def texts(step):
        ids = torch.randint(384, (2, 33), generator=torch.Generator("cpu").manual_seed(step), device="cpu").to(device)
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def train(module, optimizer, clips):
        torch.manual_seed(1)
        losses = []
        for step in range(STEPS):
            # The peak does not include the first step. This step has no arena yet, and takes its memory in
            # blocks of the allocator, which may be larger than the tensors in them.
            if step == 1:
                torch.cuda.reset_peak_memory_stats(device)
            for part in range(MICRO):
                given, target = texts(step * MICRO + part)
                loss = models.text_loss(module(given), target) / MICRO
                scaler.scale(loss * float("inf") if SCALED and step == 2 else loss).backward()
                losses.append(loss.item())
            if CLIP and clips:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(module.parameters(), CLIP)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        with torch.no_grad():
            sums = [value.double().sum().item() for value in module.state_dict().values()]
        return losses, sums

    def adamw(module):
        return torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
"""


SEGMENT = 20 << 20  # bytes that the allocator requests from the device at a time


class HostWeights(ProcessCase):
    def train_within_a_tenth(self, orders, **environment):
        """Trains within a tenth of the memory, once for each of the `orders` in which the stand-in can do its
        work."""
        self.needs_the_stand_in()
        out, _ = self.run_process(
            TEXT
            + """
    module = gpt().to(device)
    result = train(module, adamw(module), True)
    print(torch.cuda.max_memory_allocated(device), gpu.simgpu_peak(0), result)
    """,
            **environment,
        )
        peak, device, plain = out.split(maxsplit=2)
        budget = int(peak) // 10
        for order in orders:
            with self.subTest(order):
                out, _ = self.run_process(
                    TEXT
                    + f"""
    gpu.simgpu_set_memory({budget + int(device) - int(peak) + SEGMENT})
    module = gpt()
    optimizer = adamw(module)
    rematlas.apply(module, {budget}, device=device, optimizer=optimizer, accumulate=MICRO, clip_norm=CLIP or None, scaler=scaler, arena=True, offload="all", links="pcie4", time_limit=1)
    result = train(module, optimizer, False)
    status = rematlas.status(module)
    print(torch.cuda.max_memory_allocated(device), status.updated, status.original, result)
    """,
                    SIMGPU_ORDER=order,
                    **environment,
                )
                ours, updated, original, same = out.split(maxsplit=3)
                self.assertEqual(same, plain)
                self.assertEqual((updated, original), ("5", "0"))
                self.assertLessEqual(int(ours), budget)

    def test_a_gpt(self):
        self.train_within_a_tenth(("lazy", "seeded:3"))

    def test_a_gpt_with_accumulation_and_clipping(self):
        self.train_within_a_tenth(("seeded:3",), MICRO="2", CLIP="0.5")

    @slow
    def test_a_gpt_whose_loss_is_scaled(self):
        self.train_within_a_tenth(("lazy",), MICRO="2", CLIP="0.5", SCALED="1")


if __name__ == "__main__":
    unittest.main()
