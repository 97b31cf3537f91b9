"""The commands of `python -m rematlas`, one file for each. Each file has a function `add`, which adds the
command to a parser."""
