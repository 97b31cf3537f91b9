"""Large models as functions for `rematlas capture` and `rematlas fits`: they hold no data.

    rematlas capture large:llama3_8b --device meta --device-profile h100 --optimizer adamw -o llama.graph.json

Each function returns (model, args, kwargs) for one training step, on the meta device, in bf16 unless it says
otherwise. The configurations are those that the models' authors have published. With `small=True` the model
has two narrow layers on the CPU, and can be trained on a laptop.
"""

import torch
import transformers
from torch import Tensor, nn


def causal(config, batch: int, length: int, small: dict | None):
    """Returns the step of a language model that is trained on its own input."""
    if small is not None:
        for name, value in small.items():
            setattr(config, name, value)
    config.use_cache = False
    with torch.device("cpu" if small else "meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
        text = torch.randint(config.vocab_size, (batch, length))
    model = model if small else model.to(torch.bfloat16)
    return model, (), {"input_ids": text, "labels": text}


NARROW = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 500,
}


def llama3_8b(batch: int = 1, length: int = 2048, small: bool = False):
    """Llama 3.1 8B (Grattafiori et al., 2024, table 3)."""
    config = transformers.LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        max_position_embeddings=131072,
    )
    return causal(config, batch, length, NARROW | {"head_dim": 16} if small else None)


def qwen3_8b(batch: int = 1, length: int = 2048, small: bool = False):
    """Qwen3 8B (Yang et al., 2025, table 1)."""
    config = transformers.Qwen3Config(
        hidden_size=4096,
        intermediate_size=12288,
        num_hidden_layers=36,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        vocab_size=151936,
        max_position_embeddings=40960,
    )
    return causal(config, batch, length, NARROW | {"head_dim": 16} if small else None)


def qwen3_30b_a3b(batch: int = 1, length: int = 2048, small: bool = False):
    """Qwen3 30B-A3B, a mixture of 128 experts; each token uses 8 of them (Yang et al., 2025, table 2)."""
    config = transformers.Qwen3MoeConfig(
        hidden_size=2048,
        intermediate_size=6144,
        moe_intermediate_size=768,
        num_hidden_layers=48,
        num_attention_heads=32,
        num_key_value_heads=4,
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        norm_topk_prob=True,
        vocab_size=151936,
        max_position_embeddings=40960,
    )
    narrow = {"head_dim": 16, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2}
    return causal(config, batch, length, NARROW | narrow if small else None)


def gemma2_9b(batch: int = 1, length: int = 2048, small: bool = False):
    """Gemma 2 9B (Gemma Team, 2024, table 1)."""
    config = transformers.Gemma2Config(
        hidden_size=3584,
        intermediate_size=14336,
        num_hidden_layers=42,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=256,
        vocab_size=256000,
        query_pre_attn_scalar=256,
    )
    narrow = {"head_dim": 16, "layer_types": ["sliding_attention", "full_attention"]}
    return causal(config, batch, length, NARROW | narrow if small else None)


def phi4_mini(batch: int = 1, length: int = 2048, small: bool = False):
    """Phi-4-mini, 3.8B parameters (Microsoft, 2025, section 2)."""
    config = transformers.Phi3Config(
        hidden_size=3072,
        intermediate_size=8192,
        num_hidden_layers=32,
        num_attention_heads=24,
        num_key_value_heads=8,
        vocab_size=200064,
        tie_word_embeddings=True,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )
    return causal(config, batch, length, NARROW if small else None)


def gpt2_xl(batch: int = 1, length: int = 1024, small: bool = False):
    """GPT-2 XL, 1.5B parameters (Radford et al., 2019, table 2)."""
    config = transformers.GPT2Config(n_embd=1600, n_layer=48, n_head=25, vocab_size=50257, n_positions=1024)
    narrow = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500, "n_positions": 64}
    return causal(config, batch, length, narrow if small else None)


def whisper_large(batch: int = 1, length: int = 448, small: bool = False):
    """Whisper large v3, 1.5B parameters: 30 seconds of sound and `length` tokens of text (Radford et al.,
    2022, table 1)."""
    config = transformers.WhisperConfig(
        vocab_size=51866,
        num_mel_bins=128,
        d_model=1280,
        encoder_layers=32,
        decoder_layers=32,
        encoder_attention_heads=20,
        decoder_attention_heads=20,
        encoder_ffn_dim=5120,
        decoder_ffn_dim=5120,
        use_cache=False,
    )
    frames = 3000
    if small:
        frames = 200
        narrow = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 500}
        narrow |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_source_positions": 100}
        narrow |= {"encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_mel_bins": 16}
        narrow |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
        for name, value in narrow.items():
            setattr(config, name, value)
    with torch.device("cpu" if small else "meta"):
        model = transformers.WhisperForConditionalGeneration(config)
        sound = torch.randn(batch, config.num_mel_bins, frames)
        text = torch.randint(config.vocab_size, (batch, length))
    if not small:
        model, sound = model.to(torch.bfloat16), sound.to(torch.bfloat16)
    return model, (), {"input_features": sound, "labels": text}


class JointBlock(nn.Module):
    """A transformer block with separate weights for image and text, which attend to each other. An embedding
    of the timestep scales and gates both (Esser et al., 2024, figure 2)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(4))
        self.scales = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(2))
        self.outputs = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
            for _ in range(2)
        )

    def forward(self, image: Tensor, text: Tensor, condition: Tensor) -> tuple[Tensor, Tensor]:
        streams = (image, text)
        changes = [scale(condition).unsqueeze(1).chunk(6, dim=2) for scale in self.scales]
        projected = []
        for i, stream in enumerate(streams):
            shift, scale = changes[i][:2]
            projected.append(self.projections[i](self.norms[i](stream) * (1 + scale) + shift))
        joint = torch.cat(projected, dim=1)
        batch, length, _ = joint.shape
        query, key, value = joint.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        attended = attended.transpose(1, 2).reshape(batch, length, -1)
        results = []
        for i, part in enumerate(attended.split([image.shape[1], text.shape[1]], dim=1)):
            _, _, gate, shift, scale, last_gate = changes[i]
            stream = streams[i] + gate * self.outputs[i](part)
            stream = stream + last_gate * self.layers[i](self.norms[2 + i](stream) * (1 + scale) + shift)
            results.append(stream)
        return results[0], results[1]


class DiffusionTransformer(nn.Module):
    """Predicts the velocity of a rectified flow from a noisy latent image. The loss is the squared error."""

    def __init__(self, depth: int, heads: int, latent: int, text_width: int):
        super().__init__()
        width = 64 * heads
        self.patches = nn.Conv2d(16, width, 2, stride=2)
        self.places = nn.Parameter(torch.zeros(1, (latent // 2) ** 2, width))
        self.text = nn.Linear(text_width, width)
        self.condition = nn.Sequential(nn.Linear(2048, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(JointBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 2 * 2 * 16)

    def forward(self, latent: Tensor, text: Tensor, pooled: Tensor, velocity: Tensor) -> Tensor:
        image = self.patches(latent).flatten(2).transpose(1, 2) + self.places
        text, condition = self.text(text), self.condition(pooled)
        for block in self.blocks:
            image, text = block(image, text, condition)
        return nn.functional.mse_loss(self.head(self.norm(image)), velocity)


def sd3_like(batch: int = 1, length: int = 154, small: bool = False):
    """A transformer like that of Stable Diffusion 3 Medium, 2B parameters: depth 24, 24 heads of 64, images
    of 1024 by 1024, `length` tokens of text (Esser et al., 2024, sections 4 and 5)."""
    depth, heads, latent, text_width = (2, 2, 16, 32) if small else (24, 24, 128, 4096)
    with torch.device("cpu" if small else "meta"):
        model = DiffusionTransformer(depth, heads, latent, text_width)
        inputs = (
            torch.randn(batch, 16, latent, latent),
            torch.randn(batch, length, text_width),
            torch.randn(batch, 2048),
            torch.randn(batch, (latent // 2) ** 2, 64),
        )
    if not small:
        model, inputs = model.to(torch.bfloat16), tuple(one.to(torch.bfloat16) for one in inputs)
    return model, inputs, {}


MODELS = (
    llama3_8b, qwen3_8b, gemma2_9b, qwen3_30b_a3b, phi4_mini, gpt2_xl, whisper_large, sd3_like,
)  # fmt: skip
