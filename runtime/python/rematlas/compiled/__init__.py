"""What the compiled part answers and asks, with types and names: nothing else in the package knows its texts
and numbers."""
