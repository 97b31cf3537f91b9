"""Calls and modules that cannot be planned, and the messages about them."""

import logging
import re

from ..errors import Refused, warn

log = logging.getLogger("rematlas")
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
MOST_ATTEMPTS = 4  # steps that are recorded in vain for one kind of call before it is refused
MAY_CHANGE = (
    "numbers that are attributes of a module may where the forward counts by them and nothing reads them, and"
    " tensors that are buffers or in an attribute, also in a tuple or list that each forward puts there anew"
)

BY_COMPILE = "call `rematlas.compile(model, budget)` in the place of torch.compile"


class Refusals:
    """Notes why the module cannot be planned, and how often recorded steps have led to no plan."""

    def __init__(self, options, fallback):
        self.options = options
        self.fallback = fallback
        self.of_module = ""  # why the module cannot be planned at all
        # how many recorded steps led to no plan, for each kind of call; the key leaves out the module's state
        self.attempts = {}
        self.reasons = {}  # why the newest of these steps led to no plan, by the same key
        self.failures_in_a_row = 0  # how many recorded steps in a row led to no plan, over all keys
        self.has_warned = False
        self.said = set()  # messages that were already logged
        self.left_alone = {}  # by the description of calls: (number of such calls, text on how they run)

    def refuse_module(self, why) -> None:
        self.of_module = why
        self.tell(why)

    def tell(self, why, error=None, fits=None) -> None:
        """Warns once; raises `error` or Refused instead if the user has asked for errors. `fits` is as in
        Fallback.evicts."""
        log.info("rematlas: %s", why)
        if self.options.on_refuse == "raise":
            raise error or Refused(f"rematlas: {why}")
        if not self.has_warned:
            warn(f"{why}; training goes on with the original{self.fallback.about_the_budget(fits)}")
        self.has_warned = True

    def note_left_alone(self, how, advice, about_the_budget) -> None:
        """Called when the original runs a call that no plan may run. `how` describes such calls, for example
        "under a tracer"; in the message it follows the word "calls". Warns once for each `how`; raises
        Refused instead if the user has asked for errors."""
        count, _ = self.left_alone.get(how, (0, ""))
        then = f"run the original{about_the_budget}; for a plan, {advice}"
        self.left_alone[how] = count + 1, then
        if self.options.on_refuse == "raise":
            raise Refused(f"rematlas: calls {how} {then}")
        if count == 0:
            warn(f"calls {how} {then}")

    def note_compiler_around(self) -> None:
        said = "torch.compile around the module compiles nothing: steps of the module run by plans of ops"
        if self.is_first(said):
            log.warning("rematlas: %s; for a budget under torch.compile %s", said, BY_COMPILE)

    def note_replaced(self, name) -> None:
        """Logs once that calls are planned although they run under the hooks that `name` describes."""
        if self.is_first(name):
            log.info(
                "rematlas: plans decide in the place of %s what is kept for the backward of the module; steps"
                " that the original runs stay under it",
                name,
            )

    def is_first(self, why) -> bool:
        """Says whether this text is new, and remembers it. Texts that differ only in numbers count as the
        same text."""
        kind = NUMBER.sub("0", why)
        is_first = kind not in self.said
        self.said.add(kind)
        return is_first

    # Counts of recorded steps that led to no plan. After a few such steps no more steps are recorded.

    def count_attempt(self, base, why) -> None:
        self.attempts[base] = self.attempts.get(base, 0) + 1
        self.reasons[base] = why

    def count_change(self, base, change) -> None:
        """Called when the module has changed between its recorded steps."""
        self.count_attempt(base, f"the module changes between its steps: {change} ({MAY_CHANGE})")

    def is_hopeless(self, base) -> bool:
        return self.attempts.get(base, 0) >= MOST_ATTEMPTS

    def is_module_hopeless(self) -> bool:
        """Counts one more failure in a row, and says whether there have been too many."""
        self.failures_in_a_row += 1
        return self.failures_in_a_row >= 2 * MOST_ATTEMPTS

    def note_success(self, base) -> None:
        self.failures_in_a_row = 0
        self.attempts.pop(base, None)
