"""Turns answers and requests of the compiled part into typed values. The rest of the package does not know
the texts and numbers in which the compiled part gives and takes them."""
