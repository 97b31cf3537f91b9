"""Turns answers and requests of the compiled part into typed values, so that callers need not know the texts
and numbers that the compiled part gives and takes."""
