"""The models of the table, by library. Each file registers its own as `case.ENTRIES`."""

import importlib

ESSENTIAL_FILES = [
    "transformers_language",
    "transformers_vision_and_speech",
    "timm_images",
    "torchvision_images",
]
FILES = ESSENTIAL_FILES + ["peft_adapters", "diffusers_denoisers", "geometric_graphs", "smp_segmentation"]


def load(essential: bool = False) -> list[str]:
    """Registers the models of every library that is installed; returns a line for each that is not."""
    missing = []
    for file in ESSENTIAL_FILES if essential else FILES:
        try:
            importlib.import_module(f"{__name__}.{file}")
        except ModuleNotFoundError as error:
            missing.append(f"the models of {file} are left out: {error}")
    return missing
