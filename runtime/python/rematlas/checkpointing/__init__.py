"""Plans for PyTorch's own selective activation checkpointing."""
