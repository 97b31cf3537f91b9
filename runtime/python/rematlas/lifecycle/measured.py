"""Measurements of the original's steps, and of the steps in which a plan was compared with the original."""


class Original:
    """The memory that the original's step takes."""

    def __init__(self):
        self.loss_bytes = (0, 0)  # (peak bytes of the caller's loss, bytes that it keeps for its backward)
        self.used_outputs = ()  # for each output tensor, whether the loss depends on it
        self.bytes = None  # the step's peak bytes; None if not estimated yet; 0 if shapes do not tell
        self.is_measured = False  # the bytes of the loss are known from a real step
        self.comparison_bytes = 0  # peak bytes of a step in which the plan is compared with the original
        self.is_too_large = False  # a recorded step did not fit on the device
        self.has_no_plan_from_shapes = False  # planning from shapes was tried and failed

    def note_loss(self, used_outputs, most, kept) -> None:
        """Notes facts about the loss of a real step: `used_outputs`, the outputs that the loss uses; `most`,
        the peak bytes of the loss; and `kept`, the bytes that the loss keeps for its backward."""
        self.used_outputs = used_outputs
        self.loss_bytes = max(self.loss_bytes[0], most), max(self.loss_bytes[1], kept)
        self.is_measured = True

    def bytes_for_sure(self) -> int:
        """Returns an upper estimate of a step's bytes. If the bytes are known only from shapes, a quarter is
        added, because shapes do not show the caller's loss and the workspaces of kernels."""
        return self.bytes if self.is_measured else self.bytes * 5 // 4

    def note_recorded(self, number) -> None:
        """Notes the bytes of a step that ran. Unlike bytes from shapes, these include the workspaces of
        kernels."""
        self.bytes = max(self.bytes, number)

    def note_answer(self, number, answer, is_from_shapes) -> None:
        self.bytes = max(self.bytes or 0, number) if is_from_shapes and self.is_measured else number
        # A comparison holds the original's gradients during the replay (unless eviction can evict them). A
        # comparison also holds three copies of each tensor that the step writes to: one from before the step,
        # one from after the original, and one from after the replay.
        held = answer.gradient_bytes + 3 * answer.written_bytes
        self.comparison_bytes = answer.kept_by_loss_bytes + answer.peak_bytes + held


class Comparisons:
    """The results of the steps in which the plan was compared with the original."""

    def __init__(self):
        self.identical = 0
        self.other_courses = 0
        self.measured_bytes = 0
        self.is_at_most = False  # the measured peak is below the planned one
        self.are_given_up = False  # a comparison that was expected to fit did not fit

    def note(self, peak, planned) -> None:
        self.identical += 1
        self.measured_bytes = max(self.measured_bytes, peak)
        if peak <= planned:
            self.is_at_most = self.measured_bytes < planned

    def begin_anew(self) -> None:
        """Forgets all comparisons, because there is a new plan."""
        self.__init__()
