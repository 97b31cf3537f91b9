"""Answers and requests of the compiled part as typed values. Nothing else in the package knows the texts and
numbers that the compiled part uses."""
