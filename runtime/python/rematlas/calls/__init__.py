"""The parts of a call of the module: its arguments, the settings that it runs under, and the state of the
module that it depends on."""
