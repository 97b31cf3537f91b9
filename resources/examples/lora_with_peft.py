"""Fine-tunes a Llama by LoRA with PEFT: the weights of the model are frozen, those of the adapters are
trained.

Run it with `python lora_with_peft.py`, and once more with `--plain` to train without rematlas: both print the
same digest.
"""

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

import common


def main():
    options = common.options(__doc__)
    sizes = {
        "vocab_size": 128,
        "hidden_size": 64,
        "intermediate_size": 172,
        "num_hidden_layers": 3,
        "max_position_embeddings": 64,
    }
    llama = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2))
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
        lora_dropout=0.05,
        target_modules=["q_proj", "v_proj", "o_proj"],
    )
    model = get_peft_model(llama, lora)
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)
    model.train()
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    losses = []
    for step in range(15):
        ids = common.texts(count=8)
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step == 4:
            common.wait_for_plan(options, model)
    common.report(options, model, losses)


if __name__ == "__main__":
    main()
