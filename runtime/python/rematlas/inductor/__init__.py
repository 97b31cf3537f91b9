"""A byte budget under torch.compile: which tensors forward saves, and which ones backward computes again."""
