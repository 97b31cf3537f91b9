"""The head of a language model and its loss, computed by chunks of tokens."""
