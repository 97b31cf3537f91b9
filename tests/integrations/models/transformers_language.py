"""Language models of Hugging Face transformers: small configurations, called with the keywords that a
tokenizer and a collator produce."""

import torch
import transformers

# Transformers imports this module only when it is used. If it were not imported here, every child process
# would import it again.
import transformers.modeling_utils

from case import Batch, Case, entry
from inputs import classes, padded, tokens

VOCABULARY, LENGTH = 128, 48

# Most configurations have parameters with these names. With these sizes the activations are several times as
# large as the parameters, so that a plan can save memory.
SMALL = dict(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
SMALL_GROUPED = SMALL | dict(
    num_key_value_heads=2, head_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2
)
SMALL_GPT2 = dict(
    vocab_size=VOCABULARY,
    n_positions=64,
    n_embd=64,
    n_layer=2,
    n_head=4,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)


def bfloat16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def next_word(step: int) -> Batch:
    ids = tokens(step)
    return Batch(kwargs={"input_ids": ids, "labels": ids.clone()})


def next_word_padded_left(step: int) -> Batch:
    ids, mask, labels = padded(tokens(step), step, left=True)
    return Batch(kwargs={"input_ids": ids, "attention_mask": mask, "labels": labels})


def next_word_padded(step: int) -> Batch:
    ids, mask, labels = padded(tokens(step), step)
    return Batch(kwargs={"input_ids": ids, "attention_mask": mask, "labels": labels})


def masked_word(step: int) -> Batch:
    """Returns texts in which every seventh word is masked and has a label."""
    ids, mask, labels = padded(tokens(step), step)
    chosen = torch.arange(LENGTH) % 7 == step % 7
    return Batch(
        kwargs={
            "input_ids": ids.masked_fill(chosen & (mask == 1), 3),
            "attention_mask": mask,
            "labels": labels.masked_fill(~chosen, -100),
        }
    )


def text_class(step: int) -> Batch:
    ids, mask, _ = padded(tokens(step), step)
    return Batch(kwargs={"input_ids": ids, "attention_mask": mask, "labels": classes(step, count=3)})


def translation(step: int) -> Batch:
    """Returns padded sources and padded labels. The model makes the decoder's inputs from the labels."""
    source, mask, _ = padded(tokens(step), step)
    _, _, labels = padded(tokens(step + 100, length=32), step)
    return Batch(kwargs={"input_ids": source, "attention_mask": mask, "labels": labels})


# Decoders.


@entry("gpt2", essential=True)
def gpt2():
    """GPT-2 with tied weights and dropout. By default its outputs contain the cached keys and values."""
    return Case(transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2)), next_word)


@entry("gpt2_all_outputs")
def gpt2_all_outputs():
    """GPT-2 with attention as separate ops. It returns the hidden states and attentions of each layer."""
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2, attn_implementation="eager"))

    def batch(step):
        wanted = {"output_hidden_states": True, "output_attentions": True}
        return Batch(kwargs=next_word_padded(step).kwargs | wanted)

    return Case(model, batch)


@entry("gpt2_tuple_outputs")
def gpt2_tuple_outputs():
    """GPT-2 with positional arguments. It returns a plain tuple: loss, logits, cache."""
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2))

    def batch(step):
        ids = tokens(step)
        return Batch(args=(ids,), kwargs={"labels": ids, "return_dict": False})

    return Case(model, batch, lambda output, _: output[0])


@entry("gpt2_checkpointed_reentrant")
def gpt2_checkpointed_reentrant():
    """GPT-2 recomputes its layers by a nested backward. For this the embeddings must require gradients."""
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2))
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    return Case(model, next_word)


@entry("llama_padded", essential=True)
def llama_padded():
    return Case(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED)), next_word_padded_left
    )


@entry("llama_bfloat16")
def llama_bfloat16():
    return Case(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED)),
        next_word_padded,
        context=bfloat16,
    )


@entry("llama_weights_in_bfloat16")
def llama_weights_in_bfloat16():
    """Parameters and gradients have two bytes per number, without autocast."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED)).to(torch.bfloat16)
    return Case(model, next_word)


@entry("llama_checkpointed", essential=True)
def llama_checkpointed():
    """Llama recomputes its layers by hooks on saved tensors."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED, attention_dropout=0.1))
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return Case(model, next_word)


@entry("llama_from_embeddings")
def llama_from_embeddings():
    """The caller passes embeddings, so the model's own table of embeddings is unused."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED))

    def batch(step):
        made = torch.nn.functional.one_hot(tokens(step) % 64, 64).float()
        return Batch(kwargs={"inputs_embeds": made, "labels": tokens(step)})

    return Case(model, batch)


@entry("qwen3")
def qwen3():
    return Case(transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SMALL_GROUPED)), next_word_padded)


@entry("gemma")
def gemma():
    return Case(transformers.GemmaForCausalLM(transformers.GemmaConfig(**SMALL_GROUPED)), next_word_padded)


@entry("gemma3")
def gemma3():
    """Every second layer attends only within a sliding window."""
    config = transformers.Gemma3TextConfig(
        **SMALL_GROUPED, sliding_window=16, layer_types=["sliding_attention", "full_attention"]
    )
    return Case(transformers.Gemma3ForCausalLM(config), next_word_padded)


@entry("mistral")
def mistral():
    return Case(
        transformers.MistralForCausalLM(transformers.MistralConfig(**SMALL_GROUPED, sliding_window=16)),
        next_word,
    )


@entry("phi3")
def phi3():
    config = transformers.Phi3Config(
        **SMALL | dict(num_key_value_heads=2, pad_token_id=0, resid_pdrop=0.1, embd_pdrop=0.1)
    )
    return Case(transformers.Phi3ForCausalLM(config), next_word)


@entry("opt")
def opt():
    small = {name: size for name, size in SMALL.items() if name != "intermediate_size"}
    config = transformers.OPTConfig(
        **small, ffn_dim=128, word_embed_proj_dim=64, pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    return Case(transformers.OPTForCausalLM(config), next_word_padded)


@entry("gpt_neox")
def gpt_neox():
    config = transformers.GPTNeoXConfig(
        **SMALL, hidden_dropout=0.1, attention_dropout=0.1, bos_token_id=1, eos_token_id=2
    )
    return Case(transformers.GPTNeoXForCausalLM(config), next_word)


@entry("bloom")
def bloom():
    """BLOOM, with positions as a bias of the attention, and a fused dropout and add."""
    config = transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4, hidden_dropout=0.1, attention_dropout=0.1
    )
    return Case(transformers.BloomForCausalLM(config), next_word_padded)


@entry("falcon")
def falcon():
    config = transformers.FalconConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        bos_token_id=1,
        eos_token_id=2,
    )
    return Case(transformers.FalconForCausalLM(config), next_word)


@entry("mamba")
def mamba():
    """The scan over the words is a loop of small ops, unless a kernel for it is installed."""
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        state_size=8,
        num_hidden_layers=2,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )

    def batch(step):
        ids = tokens(step, batch=4, length=16)
        return Batch(kwargs={"input_ids": ids, "labels": ids})

    return Case(transformers.MambaForCausalLM(config), batch)


SMALL_MIXTURE = SMALL_GROUPED | dict(num_local_experts=4, num_experts_per_tok=2, output_router_logits=True)


@entry("mixtral")
def mixtral():
    """By default, words are sorted by expert, and one op multiplies them in groups. So no shape depends on
    the routing."""
    return Case(transformers.MixtralForCausalLM(transformers.MixtralConfig(**SMALL_MIXTURE)), next_word)


@entry("mixtral_batched")
def mixtral_batched():
    """Each word is multiplied by copies of the weights of its experts."""
    return Case(
        transformers.MixtralForCausalLM(
            transformers.MixtralConfig(**SMALL_MIXTURE, experts_implementation="batched_mm")
        ),
        mixture_words,
    )


@entry(
    "mixtral_by_expert",
    expected="refused",
    reason="the router decides how many words an expert is given, so shapes change from step to step",
)
def mixtral_by_expert():
    return Case(
        transformers.MixtralForCausalLM(
            transformers.MixtralConfig(**SMALL_MIXTURE, experts_implementation="eager")
        ),
        mixture_words,
    )


def mixture_words(step: int) -> Batch:
    ids = tokens(step, batch=4, length=32)
    return Batch(kwargs={"input_ids": ids, "labels": ids})


@entry(
    "opt_layerdrop",
    expected="refused",
    reason="layers are skipped at random, so steps differ in their operations",
)
def opt_layerdrop():
    small = {name: size for name, size in SMALL.items() if name != "intermediate_size"}
    config = transformers.OPTConfig(
        **small,
        ffn_dim=128,
        word_embed_proj_dim=64,
        layerdrop=0.5,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return Case(transformers.OPTForCausalLM(config), next_word)


# Encoders.


@entry("bert_classifier", essential=True)
def bert_classifier():
    return Case(
        transformers.BertForSequenceClassification(transformers.BertConfig(**SMALL, num_labels=3)), text_class
    )


@entry(
    "bert_without_padding_at_times",
    expected="either",
    reason="transformers reads the mask, and takes another path in the steps that have no padding",
)
def bert_without_padding_at_times():
    """Steps 5 and 7, counted from 1, have no padding. A plan that was made from the other steps does not fit
    these two steps and must not run them."""

    def batch(step):
        made = text_class(step)
        if step in (4, 6):
            made.kwargs |= {
                "input_ids": tokens(step),
                "attention_mask": torch.ones(8, LENGTH, dtype=torch.long),
            }
        return made

    return Case(
        transformers.BertForSequenceClassification(transformers.BertConfig(**SMALL, num_labels=3)), batch
    )


@entry("bert_bfloat16")
def bert_bfloat16():
    return Case(transformers.BertForMaskedLM(transformers.BertConfig(**SMALL)), masked_word, context=bfloat16)


@entry("bert_answers")
def bert_answers():
    """The model predicts the first and last word of an answer; its inputs have segments."""

    def batch(step):
        ids, mask, _ = padded(tokens(step), step)
        segments = (torch.arange(LENGTH) >= 12).long().expand(8, LENGTH).contiguous()
        begin = classes(step, count=20)
        return Batch(
            kwargs={
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": segments,
                "start_positions": begin,
                "end_positions": begin + 2,
            }
        )

    return Case(transformers.BertForQuestionAnswering(transformers.BertConfig(**SMALL)), batch)


@entry("bert_frozen_below")
def bert_frozen_below():
    """The embeddings and the first layer are frozen, as if only the top is fine-tuned."""
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**SMALL, num_labels=3))
    model.bert.embeddings.requires_grad_(False)
    model.bert.encoder.layer[0].requires_grad_(False)
    return Case(model, text_class)


@entry("roberta")
def roberta():
    config = transformers.RobertaConfig(**SMALL, pad_token_id=0)
    return Case(transformers.RobertaForMaskedLM(config), masked_word)


@entry("distilbert")
def distilbert():
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        dim=64,
        hidden_dim=128,
        n_layers=2,
        n_heads=4,
        num_labels=5,
    )

    def batch(step):
        ids, mask, _ = padded(tokens(step), step)
        labels = classes(step, (8, LENGTH), 5).masked_fill(mask == 0, -100)
        return Batch(kwargs={"input_ids": ids, "attention_mask": mask, "labels": labels})

    return Case(transformers.DistilBertForTokenClassification(config), batch)


@entry(
    "electra",
    expected="refused",
    reason="the loss indexes with booleans the words that are no padding: shapes change from step to step",
)
def electra():
    """ELECTRA, which says for each word whether it was replaced."""

    def batch(step):
        ids, mask, _ = padded(tokens(step), step)
        return Batch(
            kwargs={"input_ids": ids, "attention_mask": mask, "labels": classes(step, (8, LENGTH), 2)}
        )

    return Case(
        transformers.ElectraForPreTraining(transformers.ElectraConfig(**SMALL, embedding_size=32)), batch
    )


@entry("electra_unpadded")
def electra_unpadded():
    def batch(step):
        return Batch(kwargs={"input_ids": tokens(step), "labels": classes(step, (8, LENGTH), 2)})

    return Case(
        transformers.ElectraForPreTraining(transformers.ElectraConfig(**SMALL, embedding_size=32)), batch
    )


@entry("albert")
def albert():
    """All layers of ALBERT share their parameters."""
    config = transformers.AlbertConfig(
        **SMALL | dict(num_hidden_layers=3), embedding_size=32, num_labels=3, hidden_dropout_prob=0.1
    )
    return Case(transformers.AlbertForSequenceClassification(config), text_class)


@entry("deberta")
def deberta():
    config = transformers.DebertaV2Config(
        **SMALL,
        relative_attention=True,
        position_buckets=16,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
    )
    return Case(transformers.DebertaV2ForMaskedLM(config), masked_word)


@entry("fnet")
def fnet():
    """FNet mixes words by a Fourier transform, with complex numbers."""
    config = transformers.FNetConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        max_position_embeddings=64,
        num_labels=3,
    )

    def batch(step):
        return Batch(kwargs={"input_ids": tokens(step), "labels": classes(step, count=3)})

    return Case(transformers.FNetForSequenceClassification(config), batch)


@entry("longformer")
def longformer():
    """Longformer reads from the mask whether any word has global attention."""
    config = transformers.LongformerConfig(
        **SMALL,
        attention_window=[8, 8],
        num_labels=3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        sep_token_id=2,
    )
    return Case(transformers.LongformerForSequenceClassification(config), text_class)


# Encoders with decoders.


@entry("t5", essential=True)
def t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    return Case(transformers.T5ForConditionalGeneration(config), translation)


@entry("t5_checkpointed")
def t5_checkpointed():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        is_gated_act=True,
    )
    model = transformers.T5ForConditionalGeneration(config)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return Case(model, translation)


@entry("bart")
def bart():
    config = transformers.BartConfig(
        vocab_size=VOCABULARY,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
    return Case(transformers.BartForConditionalGeneration(config), translation)
