"""Trains a GPT-2 with the Trainer of Hugging Face, which calls the model with keywords and takes the loss
that it returns.

Run it with `python hugging_face_trainer.py`, and once more with `--plain` to train without rematlas: both
print the same digest.
"""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

import common


class WaitForPlan(TrainerCallback):
    def __init__(self, options):
        self.options = options

    def on_step_end(self, arguments, state, control, model=None, **_):
        if state.global_step == 5:
            common.wait_for_plan(self.options, model)


def main():
    options = common.options(__doc__)
    sizes = {"vocab_size": 128, "n_positions": 64, "n_embd": 64, "n_layer": 3, "n_head": 4}
    model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)
    dataset = [
        {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
        for ids in common.texts(count=160)
    ]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            num_train_epochs=1,
            learning_rate=1e-3,
            warmup_steps=5,
            logging_steps=1,
            save_steps=10,
            seed=0,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Trainer(
            model=model, args=arguments, train_dataset=dataset, callbacks=[WaitForPlan(options)]
        )
        trainer.train()
    common.report(options, model, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry])


if __name__ == "__main__":
    main()
