"""Adapters of PEFT on small models of transformers. Most parameters are frozen, and a few small ones are
trained."""

import peft
import transformers

from case import Case, entry
from models.transformers_language import (
    SMALL,
    SMALL_GPT2,
    SMALL_GROUPED,
    next_word,
    next_word_padded,
    text_class,
    translation,
)


def lora(targets: list[str], task: str, **options) -> peft.LoraConfig:
    return peft.LoraConfig(
        r=4, lora_alpha=8, lora_dropout=0.1, target_modules=targets, task_type=task, **options
    )


@entry("llama_lora")
def llama_lora():
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED))
    return Case(
        peft.get_peft_model(model, lora(["q_proj", "k_proj", "v_proj", "o_proj"], "CAUSAL_LM")),
        next_word_padded,
    )


@entry("llama_lora_checkpointed")
def llama_lora_checkpointed():
    """A hook on the embeddings makes the layers' inputs require gradients, as reentrant checkpoints of frozen
    models need."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED))
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    return Case(peft.get_peft_model(model, lora(["q_proj", "v_proj"], "CAUSAL_LM")), next_word)


@entry("gpt2_lora")
def gpt2_lora():
    """LoRA on layers whose weights are stored transposed."""
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2))
    return Case(peft.get_peft_model(model, lora(["c_attn"], "CAUSAL_LM", fan_in_fan_out=True)), next_word)


@entry("bert_lora_classifier")
def bert_lora_classifier():
    """LoRA with a classifier. PEFT trains a copy of the classifier."""
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**SMALL, num_labels=3))
    return Case(peft.get_peft_model(model, lora(["query", "value"], "SEQ_CLS")), text_class)


@entry("llama_dora")
def llama_dora():
    """DoRA, which computes norms of whole weights in every forward."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED))
    return Case(peft.get_peft_model(model, lora(["q_proj", "v_proj"], "CAUSAL_LM", use_dora=True)), next_word)


@entry("t5_ia3")
def t5_ia3():
    config = transformers.T5Config(
        vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    adapter = peft.IA3Config(
        task_type="SEQ_2_SEQ_LM", target_modules=["k", "v", "wo"], feedforward_modules=["wo"]
    )
    return Case(peft.get_peft_model(transformers.T5ForConditionalGeneration(config), adapter), translation)


@entry("llama_prompt_tuning")
def llama_prompt_tuning():
    """Trained embeddings are put before the words, and the labels are lengthened accordingly."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED))
    adapter = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    return Case(peft.get_peft_model(model, adapter), next_word_padded)
