"""Turns answers and requests of the compiled part (the C++ library) into typed values. Callers need not know
the texts and numbers that the compiled part gives and takes."""
