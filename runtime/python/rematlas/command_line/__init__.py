"""The commands of `python -m rematlas`, a file for each. Each file has `add`, which adds the command to a
parser."""
