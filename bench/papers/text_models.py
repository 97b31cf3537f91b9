"""Text models of the papers' tables as functions. The models are on the meta device, so they hold no data.

    rematlas capture text_models:llama2_7b --device meta --device-profile a100 --set batch=8 -o x.graph.json

Each function returns (model, args, kwargs) for one training step, see image_models.py.
"""

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from image_models import SumOf, relu_of_2020

transformers.logging.set_verbosity_error()


class Attention(nn.Module):
    """Multi-head attention, computed by separate ops (Vaswani et al., 2017, section 3.2)."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (
            part(of).unflatten(2, (self.heads, -1)).transpose(1, 2) for part, of in zip(self.parts, (x, y, y))
        )
        scores = (query * self.scale) @ key.transpose(2, 3)
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        found = self.dropout(functional.softmax(scores, dim=3)) @ value
        return self.parts[3](found.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of the encoder or, with `crossed`, of the decoder. Norms come after the residual sums, as in
    the paper."""

    def __init__(self, width: int, heads: int, dropout: float, crossed: bool, relu=functional.relu):
        super().__init__()
        self.relu = relu
        self.attentions = nn.ModuleList(Attention(width, heads, dropout) for _ in range(1 + crossed))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + crossed))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, encoded: Tensor | None, mask: Tensor | None) -> Tensor:
        x = self.norms[0](x + self.dropout(self.attentions[0](x, x, mask)))
        if encoded is not None:
            x = self.norms[1](x + self.dropout(self.attentions[1](x, encoded, None)))
        wide = self.dropout(self.relu(self.wide(x)))
        return self.norms[-1](x + self.dropout(self.narrow(wide)))


class Layers(nn.Module):
    """The transformer of DTR's experiments: torch.nn.Transformer(nhead=16, num_encoder_layers=12) of PyTorch
    in 2020. It has 12 layers in the encoder, 6 in the decoder, and no word embedding."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList(Layer(512, 16, 0.1, False, relu_of_2020) for _ in range(12))
        self.decoder = nn.ModuleList(Layer(512, 16, 0.1, True, relu_of_2020) for _ in range(6))
        self.norms = nn.ModuleList(nn.LayerNorm(512) for _ in range(2))

    def forward(self, encoded: Tensor, x: Tensor) -> Tensor:
        for layer in self.encoder:
            encoded = layer(encoded, None, None)
        encoded = self.norms[0](encoded)
        for layer in self.decoder:
            x = layer(x, encoded, None)
        return self.norms[1](x).mean()


def transformer_12_6(batch: int = 10, length: int = 512):
    """Returns the step of `Layers` with `length` input vectors and 20 output vectors."""
    with torch.device("meta"):
        return Layers(), (torch.zeros(batch, length, 512), torch.zeros(batch, 20, 512)), {}


def gpt2(
    batch: int,
    length: int,
    layers: int = 12,
    width: int = 768,
    heads: int = 12,
    words: int = 50257,
    attention: str = "sdpa",
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
):
    """Returns the step of GPT-2 from the package transformers. `attention`: "sdpa", or "eager", which
    materializes the attention scores."""
    config = transformers.GPT2Config(
        n_embd=width, n_layer=layers, n_head=heads, vocab_size=words, n_positions=length, use_cache=False,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
    )  # fmt: skip
    return causal(config, batch, length, dtype, attention)


def causal(config, batch: int, length: int, dtype: torch.dtype, attention: str = "sdpa"):
    """Returns the step of a language model from the package transformers. The model is trained on its own
    input."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
        text = torch.zeros(batch, length, dtype=torch.int64)
    return model.to(dtype), (), {"input_ids": text, "labels": text}


def gpt2_of_rockmate(layers: int = 12, batch: int = 100):
    """GPT-2 as in HiRemate's experiments: width 768, 20 tokens, dropout; the loss is the sum of the
    logits."""
    model, _, texts = gpt2(batch, 20, layers, attention="eager", dropout=0.1)
    return SumOf(model), (texts["input_ids"],), {}


def transformer_6_6(batch: int = 32):
    """torch.nn.Transformer(nhead=16) as in HiRemate's experiments: encoder and decoder each get 200
    vectors."""
    with torch.device("meta"):
        vectors = torch.zeros(200, batch, 512)
        return SumOf(nn.Transformer(nhead=16)), (vectors, vectors), {}


def gpt3_3b(batch: int = 4, length: int = 1024):
    """GPT-3 2.7B as in the benchmark of FlashAttention-2: 32 layers of width 2560, 32 heads."""
    return gpt2(batch, length, 32, 2560, 32, 50304, dtype=torch.bfloat16)


def llama2_7b(batch: int = 8, length: int = 2048):
    config = transformers.LlamaConfig(
        hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        vocab_size=32000, max_position_embeddings=4096, use_cache=False,
    )  # fmt: skip
    return causal(config, batch, length, torch.bfloat16)


def llama32_3b(batch: int = 2, length: int = 4096):
    """Llama 3.2 3B, with the head tied to the embedding."""
    config = transformers.LlamaConfig(
        hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24,
        num_key_value_heads=8, vocab_size=128256, max_position_embeddings=131072, use_cache=False,
        tie_word_embeddings=True,
    )  # fmt: skip
    return causal(config, batch, length, torch.bfloat16)


def phi2_config():
    return transformers.PhiConfig(
        hidden_size=2560, intermediate_size=10240, num_hidden_layers=32, num_attention_heads=32,
        vocab_size=51200, partial_rotary_factor=0.4, max_position_embeddings=2048, use_cache=False,
        resid_pdrop=0.0, embd_pdrop=0.0, attention_dropout=0.0, pad_token_id=0,
    )  # fmt: skip


def phi2(batch: int = 8, length: int = 2048):
    return causal(phi2_config(), batch, length, torch.bfloat16)


def phi2_classifier(batch: int = 8, length: int = 2048):
    """Phi-2 as a classifier of texts, as in OffMate's experiments. Its logits are those of classes, not of
    words."""
    with torch.device("meta"):
        model = transformers.PhiForSequenceClassification(phi2_config()).to(torch.bfloat16)
        text = torch.zeros(batch, length, dtype=torch.int64)
        target = torch.zeros(batch, dtype=torch.int64)
    return model, (), {"input_ids": text, "labels": target}


BERT_HEADS = {
    "classes": transformers.BertForSequenceClassification,
    "answers": transformers.BertForQuestionAnswering,
    "pretraining": transformers.BertForPreTraining,
}


def bert_large(batch: int, length: int, head: str = "classes"):
    """BERT-large from the package transformers, with dropout, and with attention as separate ops. `head`:
    "classes" (a class for each text), "answers" (the first and last word of an answer in the text) or
    "pretraining" (masked words, and next-sentence prediction)."""
    config = transformers.BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    )
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = BERT_HEADS[head](config)
        text = torch.zeros(batch, length, dtype=torch.int64)
        target = torch.zeros(batch, dtype=torch.int64)
    targets = {
        "classes": {"labels": target},
        "answers": {"start_positions": target, "end_positions": target},
        "pretraining": {"labels": text, "next_sentence_label": target},
    }
    return model, (), {"input_ids": text} | targets[head]


class LowRank(nn.Module):
    """A frozen layer to whose output a low-rank update is added (Hu et al., 2021)."""

    def __init__(self, base: nn.Linear, rank: int):
        super().__init__()
        self.base = base
        self.into = nn.Linear(base.in_features, rank, bias=False)
        self.out = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.out(self.into(x)) * 2.0


def llama2_7b_low_rank(batch: int = 1, length: int = 1304):
    """Llama 2 7B in bf16. All parameters are frozen except low-rank updates (rank 8) of the layers for
    queries and values."""
    model, args, kwargs = llama2_7b(batch, length)
    model.requires_grad_(False)
    with torch.device("meta"):
        for layer in model.model.layers:
            attention = layer.self_attn
            attention.q_proj = LowRank(attention.q_proj, 8).to(torch.bfloat16)
            attention.v_proj = LowRank(attention.v_proj, 8).to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(".into." in name or ".out." in name)
    return model, args, kwargs
