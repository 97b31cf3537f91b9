"""The way from a recorded step to a planned one: the module that trains by plans, its kinds of calls, and
their states."""
