"""Answers and requests of the compiled part, with types and names. Nothing else in the package knows the
texts and numbers of the compiled part."""
