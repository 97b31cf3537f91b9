"""Imports the files of a table whose libraries are installed."""

import importlib


def load(package: str, files: list[str]) -> list[str]:
    """Imports the files of the package whose libraries are installed. Returns a line for each file that
    cannot be imported."""
    missing = []
    for file in files:
        try:
            importlib.import_module(f"{package}.{file}")
        except ModuleNotFoundError as error:
            missing.append(f"{file} of the {package} is left out: {error}")
    return missing
