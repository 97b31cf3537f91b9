"""Models of Hugging Face transformers for images, video and speech, and for images with text."""

import torch
import transformers

from case import Batch, Case, entry
from inputs import classes, normal, padded, tokens

SMALL = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
SMALL_IMAGES = SMALL | dict(image_size=32, patch_size=4)
SMALL_TEXTS = SMALL | dict(
    vocab_size=128, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2
)


def image_class(step: int) -> Batch:
    return Batch(kwargs={"pixel_values": normal(step, 8, 3, 32, 32), "labels": classes(step)})


@entry("vit")
def vit():
    config = transformers.ViTConfig(
        **SMALL_IMAGES, num_labels=10, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    return Case(transformers.ViTForImageClassification(config), image_class)


@entry("vit_bfloat16", essential=True)
def vit_bfloat16():
    model = transformers.ViTForImageClassification(transformers.ViTConfig(**SMALL_IMAGES, num_labels=10))
    return Case(model, image_class, context=lambda: torch.autocast("cpu", dtype=torch.bfloat16))


@entry("vit_masked_autoencoder")
def vit_masked_autoencoder():
    """The model keeps a random quarter of the patches. It draws and sorts numbers, so shapes are fixed but
    positions are random."""
    config = transformers.ViTMAEConfig(
        **SMALL_IMAGES,
        decoder_hidden_size=32,
        decoder_intermediate_size=64,
        decoder_num_hidden_layers=1,
        decoder_num_attention_heads=4,
        mask_ratio=0.75,
    )

    def batch(step):
        return Batch(kwargs={"pixel_values": normal(step, 8, 3, 32, 32)})

    return Case(transformers.ViTMAEForPreTraining(config), batch)


@entry("dinov2")
def dinov2():
    """DINOv2 drops whole paths of a layer at random."""
    config = transformers.Dinov2Config(
        **{k: v for k, v in SMALL_IMAGES.items() if k != "intermediate_size"},
        num_labels=10,
        mlp_ratio=2,
        drop_path_rate=0.2,
    )
    return Case(transformers.Dinov2ForImageClassification(config), image_class)


@entry("transformers_swin")
def transformers_swin():
    config = transformers.SwinConfig(
        image_size=32,
        patch_size=2,
        embed_dim=24,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
        drop_path_rate=0.2,
        num_labels=10,
    )
    return Case(transformers.SwinForImageClassification(config), image_class)


@entry("transformers_resnet")
def transformers_resnet():
    config = transformers.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 1, 1], layer_type="basic", num_labels=10
    )

    def batch(step):
        return Batch(kwargs={"pixel_values": normal(step, 8, 3, 96, 96), "labels": classes(step)})

    return Case(transformers.ResNetForImageClassification(config), batch)


@entry("segformer")
def segformer():
    """SegFormer has BatchNorm in its head; the logits are scaled up to the labels' size."""
    config = transformers.SegformerConfig(
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[16, 32],
        patch_sizes=[7, 3],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=32,
        num_labels=5,
    )

    def batch(step):
        return Batch(
            kwargs={"pixel_values": normal(step, 4, 3, 64, 64), "labels": classes(step, (4, 64, 64), 5)}
        )

    return Case(transformers.SegformerForSemanticSegmentation(config), batch)


@entry("videomae")
def videomae():
    """The caller chooses the hidden patches, the same number in each video. The model selects them by a
    Boolean mask."""
    config = transformers.VideoMAEConfig(
        **SMALL | dict(image_size=16, patch_size=4, num_frames=4, tubelet_size=2),
        decoder_num_attention_heads=4,
        decoder_hidden_size=32,
        decoder_num_hidden_layers=1,
        decoder_intermediate_size=64,
    )

    def batch(step):
        hidden = (torch.arange(32) + step) % 4 != 0
        return Batch(
            kwargs={
                "pixel_values": normal(step, 24, 4, 3, 16, 16),
                "bool_masked_pos": hidden.expand(24, 32).contiguous(),
            }
        )

    return Case(transformers.VideoMAEForPreTraining(config), batch)


@entry("clip", essential=True)
def clip():
    """CLIP has two towers; its loss compares every text with every image."""
    config = transformers.CLIPConfig(text_config=SMALL_TEXTS, vision_config=SMALL_IMAGES, projection_dim=32)

    def batch(step):
        ids, mask, _ = padded(tokens(step, length=24), step)
        ids[:, -1] = 2
        return Batch(
            kwargs={
                "input_ids": ids,
                "attention_mask": mask,
                "pixel_values": normal(step, 8, 3, 32, 32),
                "return_loss": True,
            }
        )

    return Case(transformers.CLIPModel(config), batch)


@entry("siglip")
def siglip():
    """SigLIP pools images by attention."""
    config = transformers.SiglipConfig(text_config=SMALL_TEXTS, vision_config=SMALL_IMAGES)

    def batch(step):
        return Batch(
            kwargs={
                "input_ids": tokens(step, length=24),
                "pixel_values": normal(step, 8, 3, 32, 32),
                "return_loss": True,
            }
        )

    return Case(transformers.SiglipModel(config), batch)


@entry("whisper")
def whisper():
    config = transformers.WhisperConfig(
        vocab_size=128,
        num_mel_bins=16,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=40,
        max_target_positions=32,
        dropout=0.1,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )

    def batch(step):
        _, _, labels = padded(tokens(step, length=24), step)
        return Batch(kwargs={"input_features": normal(step, 8, 16, 80), "labels": labels})

    return Case(transformers.WhisperForConditionalGeneration(config), batch)


SMALL_SPEECH = SMALL | dict(
    vocab_size=32,
    conv_dim=(16, 16, 16),
    conv_stride=(5, 4, 2),
    conv_kernel=(10, 4, 2),
    num_feat_extract_layers=3,
    num_conv_pos_embeddings=8,
    num_conv_pos_embedding_groups=2,
    ctc_loss_reduction="mean",
    pad_token_id=0,
    layerdrop=0.0,
)


def speech(step: int) -> Batch:
    """Returns sounds of one length, and their letters."""
    return Batch(kwargs={"input_values": normal(step, 4, 2000), "labels": tokens(step, 4, 12, 32)})


def padded_speech(step: int) -> Batch:
    lengths = torch.tensor([2000 - 100 * ((i + step) % 4) for i in range(4)])
    mask = (torch.arange(2000) < lengths[:, None]).long()
    return Batch(
        kwargs={
            "input_values": normal(step, 4, 2000) * mask,
            "attention_mask": mask,
            "labels": tokens(step, 4, 12, 32),
        }
    )


@entry(
    "wav2vec2",
    expected="refused",
    essential=True,
    reason="hides spans of the sound that it draws from numpy's generator",
)
def wav2vec2():
    config = transformers.Wav2Vec2Config(
        **SMALL_SPEECH, mask_time_prob=0.2, mask_time_length=4, mask_time_min_masks=1
    )
    return Case(transformers.Wav2Vec2ForCTC(config), speech)


@entry("wav2vec2_unmasked", expected="refused", reason="ctc_loss reads its lengths where no op shows it")
def wav2vec2_unmasked():
    return Case(
        transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(**SMALL_SPEECH, apply_spec_augment=False)),
        speech,
    )


@entry(
    "wav2vec2_padded",
    expected="refused",
    reason="the loss copies the lengths of the sounds into plain numbers, which change from step to step",
)
def wav2vec2_padded():
    """`ctc_loss` reads the lengths directly from the memory of their tensors. No op shows that they are
    read."""
    return Case(
        transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(**SMALL_SPEECH, apply_spec_augment=False)),
        padded_speech,
    )


@entry("audio_spectrogram")
def audio_spectrogram():
    config = transformers.ASTConfig(
        **SMALL,
        patch_size=4,
        frequency_stride=4,
        time_stride=4,
        num_mel_bins=16,
        max_length=64,
        num_labels=10,
    )

    def batch(step):
        return Batch(kwargs={"input_values": normal(step, 8, 64, 16), "labels": classes(step)})

    return Case(transformers.ASTForAudioClassification(config), batch)
