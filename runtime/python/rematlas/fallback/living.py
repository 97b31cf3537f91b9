"""The objects of one kind that are alive in the process."""

import weakref


class Living:
    """Iterates over the added objects that are alive. Other threads may add objects meanwhile."""

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
