"""The head of a language model and its loss, by chunks of tokens."""
