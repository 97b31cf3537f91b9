"""A byte budget under torch.compile: which tensors forward saves and what backward computes again."""
