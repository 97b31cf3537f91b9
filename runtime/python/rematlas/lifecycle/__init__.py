"""The way from the first recorded step to planned steps: the module that trains by plans, its kinds of calls,
and their states."""
