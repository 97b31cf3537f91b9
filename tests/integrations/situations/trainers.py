"""Training loops of libraries: Trainer, Lightning, Accelerate."""

import tempfile

import accelerate
import lightning
import peft
import torch
import transformers
from torch.nn.functional import cross_entropy

from inputs import classes, normal, tokens
from models.peft_adapters import lora
from situation import Situation, situation
from situations.networks import adamw, convolutions, gpt2, llama


def texts(count: int = 160) -> list[dict]:
    return [{"input_ids": ids, "labels": ids} for ids in tokens(0, count, 32)]


def with_trainer(model, steps: int = 10, **options) -> Situation:
    """Returns a whole run of the Trainer of transformers; `options` are its arguments."""
    situation = Situation(model, steps=steps, in_bytes=0.9)

    class AfterStep(transformers.TrainerCallback):
        def __init__(self, after_step):
            self.after_step = after_step

        def on_step_end(self, arguments, state, control, optimizer=None, **_):
            situation.optimizers[:] = [optimizer.optimizer]
            self.after_step(())

    def loop(steps, after_step):
        with tempfile.TemporaryDirectory() as folder:
            usual = dict(
                output_dir=folder,
                per_device_train_batch_size=8,
                max_steps=steps,
                learning_rate=1e-3,
                save_strategy="no",
                seed=0,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                logging_strategy="no",
            )
            transformers.Trainer(
                model=model,
                args=transformers.TrainingArguments(**usual | options),
                train_dataset=texts(),
                eval_dataset=texts(16),
                callbacks=[AfterStep(after_step)],
            ).train()

    situation.loop = loop
    return situation


@situation("trainer_that_accumulates")
def trainer_that_accumulates():
    """The Trainer accumulates two batches for each step, clips, uses a cosine schedule of learning rates, and
    evaluates in between."""
    return with_trainer(
        gpt2(),
        gradient_accumulation_steps=2,
        lr_scheduler_type="cosine",
        eval_strategy="steps",
        eval_steps=4,
    )


@situation("trainer_in_bfloat16_with_checkpoints")
def trainer_in_bfloat16_with_checkpoints():
    """The Trainer uses bf16, gradient checkpointing and label smoothing."""
    return with_trainer(llama(), bf16=True, gradient_checkpointing=True, label_smoothing_factor=0.1)


@situation("trainer_of_adapters")
def trainer_of_adapters():
    """The Trainer gets a model that PEFT has wrapped for LoRA."""
    return with_trainer(peft.get_peft_model(llama(), lora(["q_proj", "v_proj"], "CAUSAL_LM")))


@situation("accelerate_accumulates")
def accelerate_accumulates():
    """The loop uses the context accumulate() of Accelerate, and clips when the gradients are complete."""
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    data = torch.utils.data.TensorDataset(normal(0, 256, 3, 32, 32), classes(0, 256))
    network = convolutions()
    model, optimizer, batches = accelerator.prepare(
        network, adamw(network), torch.utils.data.DataLoader(data, batch_size=16)
    )

    def loop(steps, after_step):
        for number, (x, target) in zip(range(steps), batches):
            with accelerator.accumulate(model):
                loss = cross_entropy(model(x), target)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            after_step(loss)

    return Situation(network, optimizers=[optimizer.optimizer], loop=loop, steps=14, in_bytes=0.85)


class Classifier(lightning.LightningModule):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def training_step(self, batch, _):
        x, target = batch
        return cross_entropy(self.network(x), target)

    def configure_optimizers(self):
        return adamw(self)


def with_lightning(model, planned=None, **options) -> Situation:
    situation = Situation(model, planned=planned, in_bytes=0.85)
    data = torch.utils.data.TensorDataset(normal(0, 256, 3, 32, 32), classes(0, 256))

    class AfterStep(lightning.Callback):
        def __init__(self, after_step):
            self.after_step = after_step

        def on_train_batch_end(self, trainer, module, outputs, *_):
            situation.optimizers[:] = trainer.optimizers
            self.after_step(outputs)

    def loop(steps, after_step):
        lightning.Trainer(
            max_steps=steps,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[AfterStep(after_step)],
            **options,
        ).fit(model, torch.utils.data.DataLoader(data, batch_size=16))

    situation.loop = loop
    return situation


@situation("lightning_of_the_network")
def lightning_of_the_network():
    """The network within the LightningModule is planned; gradients are clipped by value."""
    network = convolutions()
    options = {"gradient_clip_val": 0.5, "gradient_clip_algorithm": "value"}
    return with_lightning(Classifier(network), [network], **options)


@situation("lightning_of_the_module", "refused", "Lightning calls training_step, not the module")
def lightning_of_the_module():
    """The LightningModule itself is given to rematlas, but no code calls its forward."""
    return with_lightning(Classifier(convolutions()))
