"""The models of the table, by library. Each file registers its models in `case.ENTRIES`."""

import modules

ESSENTIAL_FILES = [
    "transformers_language",
    "transformers_vision_and_speech",
    "timm_images",
    "torchvision_images",
]
FILES = ESSENTIAL_FILES + ["peft_adapters", "diffusers_denoisers", "geometric_graphs", "smp_segmentation"]


def load(essential: bool = False) -> list[str]:
    """Registers the models of every installed library. Returns a line for each library that is missing."""
    return modules.load(__name__, ESSENTIAL_FILES if essential else FILES)
