"""What is known of the original's steps, and of those in which a plan was compared with it."""


class Original:
    """The memory that the original's step takes."""

    def __init__(self):
        self.loss_bytes = (0, 0)  # what the caller's loss takes at most, and keeps for its backward
        self.used_outputs = ()  # whether the loss depends on them, in order
        self.bytes = None  # as far as its shapes tell; 0: they tell nothing
        self.is_measured = False  # a real step has told
        self.comparison_bytes = 0  # of a step in which the plan is compared with it
        self.is_too_large = False  # a step that was recorded did not fit on the device
        self.has_no_plan_from_shapes = False  # it was tried

    def note_from_shapes(self, number) -> None:
        self.bytes = number

    def note_loss(self, used_outputs, most, kept) -> None:
        """A real step has told what its loss depends on and takes."""
        self.used_outputs = used_outputs
        self.loss_bytes = max(self.loss_bytes[0], most), max(self.loss_bytes[1], kept)
        self.is_measured = True

    def bytes_for_sure(self) -> int:
        """Returns a quarter more than shapes tell where they alone do: of the caller's loss and of kernels
        they tell nothing."""
        return self.bytes if self.is_measured else self.bytes * 5 // 4

    def note_recorded(self, number) -> None:
        """A step that ran tells what kernels take beside their tensors, which shapes do not."""
        self.bytes = max(self.bytes, number)

    def note_answer(self, number, answer, is_from_shapes) -> None:
        self.bytes = max(self.bytes or 0, number) if is_from_shapes and self.is_measured else number
        # A comparison holds the original's gradients beside the replay, unless what is in the way can be
        # evicted, and what the step writes to as it was before, after the original and after the replay.
        held = answer.gradient_bytes + 3 * answer.written_bytes
        self.comparison_bytes = answer.kept_by_loss_bytes + answer.peak_bytes + held

    def needed_for_comparison(self) -> int:
        """Returns the bytes of a step in which the plan is compared with the original."""
        return max(self.bytes, self.comparison_bytes)

    def note_out_of_memory(self) -> None:
        self.is_too_large = True

    def note_no_plan_from_shapes(self) -> None:
        self.has_no_plan_from_shapes = True


class Comparisons:
    """The real steps in which the plan was compared with the original."""

    def __init__(self):
        self.identical = 0
        self.other_courses = 0
        self.measured_bytes = 0
        self.is_at_most = False  # what is measured is less than what was planned
        self.are_given_up = False  # there is no room for them, although it seemed so

    def note(self, peak, planned) -> None:
        self.identical += 1
        self.measured_bytes = max(self.measured_bytes, peak)
        if peak <= planned:
            self.is_at_most = self.measured_bytes < planned

    def note_other_course(self) -> int:
        self.other_courses += 1
        return self.other_courses

    def give_up(self) -> None:
        self.are_given_up = True

    def begin_anew(self) -> None:
        """The plan is another one now."""
        self.__init__()
