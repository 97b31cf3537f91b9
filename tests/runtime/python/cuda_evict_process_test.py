"""Online eviction on a GPU whose whole memory is the budget. The software stand-in for a GPU (tests/simgpu)
enforces this limit.

Each case runs in its own process; this process does not touch the device."""

import unittest

from cuda_process_test import ProcessCase


class Capacity(ProcessCase):
    """The memory of the device is exactly the budget. Plain training fails. Training with eviction gives the
    results of plain training with enough memory."""

    TEXT = """
    import sys
    sys.path.insert(0, os.getcwd())
    import models
    import cuda_evict_test
    from cuda_evict_test import ConvNet, Trained
    cuda_evict_test.STEPS = int(os.environ.get("STEPS", 3))

    gpu = ctypes.CDLL(None)
    gpu.simgpu_used.restype = gpu.simgpu_peak.restype = ctypes.c_longlong
    gpu.simgpu_set_memory.argtypes = [ctypes.c_longlong]

    def images(step):
        generator = torch.Generator(device).manual_seed(step)
        return torch.randn(16, 3, 64, 64, generator=generator, device=device), torch.randint(10, (16,), generator=generator, device=device)

    def gpt():
        torch.manual_seed(0)
        return models.export.Gpt(layers=4, width=64, heads=4, length=64, vocabulary=512, dropout=0.1)

    def texts(step):
        generator = torch.Generator(device).manual_seed(step)
        ids = torch.randint(512, (24, 65), generator=generator, device=device)
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def conv_net():
        torch.manual_seed(0)
        return ConvNet(6)

    build, batches, loss_of = {"conv": (conv_net, images, models.image_loss), "gpt": (gpt, texts, models.text_loss)}[os.environ["MODEL"]]
    module = build().to(device)
    optimizer = models.sgd(module)
    before = torch.cuda.memory_allocated(device)
    """

    def plainly(self, model, **environment):
        out, _ = self.run_process(
            self.TEXT
            + """
    trained = Trained(module, batches, loss_of, optimizer)
    print(before, trained.peak, gpu.simgpu_peak(0), trained.losses)
    """,
            MODEL=model,
            **environment,
        )
        before, peak, device, losses = out.split(maxsplit=3)
        return int(before), int(peak), int(device), losses

    def on_a_small_device(self, model, budget, capacity, **environment):
        text = (
            self.TEXT
            + f"""
    gpu.simgpu_set_memory({capacity})
    failed = False
    if {environment.pop("plain_first", False)}:
        try:
            other = build().to(device)
            Trained(other, batches, loss_of, models.sgd(other))
        except torch.OutOfMemoryError:
            failed = True
        other = None
    with rematlas.evict(module, {budget}, costs_from_bytes=True) as eviction:
        trained = Trained(module, batches, loss_of, optimizer)
        evictions = eviction.status().evictions
    print(failed, trained.peak, gpu.simgpu_peak(0), evictions, trained.losses)
    """
        )
        out, _ = self.run_process(text, MODEL=model, **environment)
        failed, peak, device, evictions, losses = out.split(maxsplit=4)
        self.assertLessEqual(int(peak), budget)
        self.assertLessEqual(int(device), capacity)
        self.assertGreater(int(evictions), 0)
        return failed == "True", losses

    def expect_training_in_half(self, model):
        self.needs_the_stand_in()
        before, peak, device, losses = self.plainly(model)
        half = before + (peak - before) // 2
        for order in ("eager", "lazy", "seeded:3"):
            failed, ours = self.on_a_small_device(
                model, half, device - (peak - half), plain_first=order == "eager", SIMGPU_ORDER=order
            )
            self.assertEqual(ours, losses, order)
            self.assertEqual(failed, order == "eager")

    def test_a_convolutional_network_in_half_of_its_memory(self):
        self.expect_training_in_half("conv")

    def test_a_gpt_in_half_of_its_memory(self):
        self.expect_training_in_half("gpt")

    def expect_a_plan_after_eviction(self, run, on_a_small_device, **environment):
        """Checks that the first steps run under eviction and are recorded, and that the plan made from the
        recording runs the later steps. In all steps the bytes that libtorch's allocator counts must stay
        within the budget."""
        self.needs_the_stand_in()
        before, peak, device, losses = self.plainly("gpt", STEPS="8")
        half = before + (peak - before) // 2
        capacity = device - (peak - half) if on_a_small_device else device
        out, _ = run(
            self.TEXT
            + f"""
    gpu.simgpu_set_memory({capacity})
    rematlas.apply(module, {half}, unplanned="evict", config=models.by_moves())
    allocated = []

    def after():
        allocated.append(torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()
        rematlas.status(module).wait()

    trained = Trained(module, batches, loss_of, optimizer, after=after)
    status = rematlas.status(module)
    print(max(allocated))
    print(status.state, status.evicted, status.replayed, status.original, status.plans[0].compared)
    print(trained.losses)
    """,
            MODEL="gpt",
            STEPS="8",
            **environment,
        )
        most, how, same = out.split("\n")
        # If gaps between blocks leave too little memory, the plan is not compared with the original.
        self.assertIn(how, ["planned 4 4 4 2", "planned 3 5 3 0"])
        self.assertEqual(same, losses)
        self.assertLessEqual(int(most), half)

    def test_from_eviction_to_a_plan_in_half_of_its_memory(self):
        self.expect_a_plan_after_eviction(
            self.run_new_process,
            on_a_small_device=True,
            PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True",
        )

    def test_from_eviction_to_a_plan_among_blocks_that_are_not_split(self):
        """Without splitting, libtorch can hand out a block that is up to 1 MiB larger than a tensor, and the
        whole block counts as allocated. So the tensors of the planned step are in an arena."""
        self.expect_a_plan_after_eviction(self.run_process, on_a_small_device=False)

    def test_a_device_that_has_less_than_the_budget(self):
        """The device has less memory than the budget, so its memory runs out first. Eviction then frees as
        much as the allocator needs."""
        self.needs_the_stand_in()
        before, peak, device, losses = self.plainly("conv")
        _, ours = self.on_a_small_device("conv", peak + (1 << 30), device - (peak - before) // 2)
        self.assertEqual(ours, losses)


if __name__ == "__main__":
    unittest.main()
