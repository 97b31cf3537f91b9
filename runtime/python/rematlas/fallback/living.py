"""Keeps track of the objects of one kind that exist in the process."""

import weakref


class Living:
    """Iterates over the added objects that still exist. Other threads may add objects during an iteration."""

    def __init__(self):
        self.references = ()

    def add(self, made) -> None:
        alive = (reference for reference in self.references if reference() is not None)
        self.references = (*alive, weakref.ref(made))

    def __iter__(self):
        for reference in self.references:
            made = reference()
            if made is not None:
                yield made
