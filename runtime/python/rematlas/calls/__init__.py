"""What a call of the module is: its arguments, the settings it runs under, the state of the module that it
depends on."""
