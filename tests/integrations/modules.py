"""Files of a table that need libraries."""

import importlib


def load(package: str, files: list[str]) -> list[str]:
    """Imports those files of the package whose libraries are installed; returns a line for each other one."""
    missing = []
    for file in files:
        try:
            importlib.import_module(f"{package}.{file}")
        except ModuleNotFoundError as error:
            missing.append(f"{file} of the {package} is left out: {error}")
    return missing
