"""A byte budget under torch.compile: which tensors forward saves, and which tensors backward recomputes."""
