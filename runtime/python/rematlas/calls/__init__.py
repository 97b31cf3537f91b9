"""The parts of a call of the module: its arguments, its settings, and the state of the module on which it
depends."""
