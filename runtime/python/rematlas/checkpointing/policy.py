"""A plan as the `context_fn` of torch.utils.checkpoint."""

import functools

import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from ..errors import warn
from ..whole_file import write_whole
from .following import Following
from .policy_file import PolicyFile


def checkpoint_policy(plan, budget=None) -> "SelectivePolicy":
    """Returns a `context_fn` for PyTorch's own checkpointing, for training without rematlas.

        policy = rematlas.checkpoint_policy(rematlas.plan(model, args, "60%"))
        policy.wrap(model)  # the regions, or by hand:
        checkpoint(block, x, use_reentrant=False, context_fn=policy("blocks.3"))

    `plan`: a Plan, or the path of a plan, of a schedule, or of a policy file (`rematlas export --format
    policy`). The step of a plan is solved again, because selective checkpointing cannot run every schedule.
    `budget`: the budget of the step in bytes, or as a share of its peak without recomputation ("60%"); by
    default the plan's budget. `peak_bytes` and `overhead` of the result are those of the new schedule, and
    `regions` are the modules to checkpoint. Raises Refused if selective checkpointing can run no schedule
    within the budget, and ValueError for other files. Effects of modules (running statistics of BatchNorm)
    happen once more when the modules are recomputed, as always under checkpointing.
    """
    return SelectivePolicy(PolicyFile.of(plan, budget))


class SelectivePolicy:
    """A call with the path of a module returns the `context_fn` of that region. The policy itself can also be
    passed as a `context_fn`; then it finds out from the order of the calls and from their ops which region a
    call belongs to. If a call runs an op that is not expected (another shape, autocast, eval), nothing is
    saved from that op on. Later calls of the region save nothing at all until one of them runs the expected
    ops again."""

    def __init__(self, file: PolicyFile):
        self.file = file
        self.regions = {region.module: region for region in file.regions}
        self.next = 0  # the position in `regions` of the region that will probably be called next
        self.last = None  # the Following of the newest call that did not name its region
        self.unexpected = set()  # regions whose last call did not run the expected ops
        self.has_warned = False

    @property
    def budget_bytes(self) -> int:
        """The budget of the step."""
        return self.file.budget_bytes

    @property
    def peak_bytes(self) -> int:
        """The predicted peak of the step under the policy."""
        return self.file.peak_bytes

    @property
    def resident_bytes(self) -> int:
        """The bytes in the peak that are held during the whole step."""
        return self.file.resident_bytes

    @property
    def overhead(self) -> float:
        """The predicted overhead."""
        return self.file.overhead

    def __repr__(self):
        return (
            f"<rematlas.SelectivePolicy of {len(self.regions)} regions, peak {self.peak_bytes} bytes of a"
            f" budget of {self.budget_bytes}, overhead {self.overhead:.4f}>"
        )

    def __call__(self, module: str | None = None):
        """Returns the `context_fn` of the module with this path. Without a path, the policy is itself the
        `context_fn`, so this returns the contexts of the next call."""
        if module is None:
            return self.contexts(self.likeliest_first(), has_name=False)
        if module not in self.regions:
            raise KeyError(
                f"rematlas: {module!r} is no region of this policy; its regions are {[*self.regions]}"
            )
        return functools.partial(self.contexts, [self.regions[module]], has_name=True)

    def save(self, path) -> None:
        """Writes the policy file."""
        write_whole(path, self.file.text)

    def wrap(self, model):
        """Checkpoints the regions: from now on torch.utils.checkpoint calls the forward of their modules.
        Returns the model. `unwrap` restores the modules' own forwards."""
        modules = {path: self.module_of(model, path) for path in self.regions}
        for path, module in modules.items():
            module.forward = functools.partial(
                checkpoint, module.forward, use_reentrant=False, context_fn=self(path)
            )
        return model

    def unwrap(self, model):
        """Undoes `wrap`, and returns the model."""
        for path in self.regions:
            vars(model.get_submodule(path)).pop("forward", None)
        return model

    def module_of(self, model, path):
        try:
            module = model.get_submodule(path)
        except AttributeError:
            raise ValueError(
                f"rematlas: the model has no module {path!r}, which the plan checkpoints: plan this model"
            ) from None
        if isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict):
            raise ValueError(
                f"rematlas: {path!r} is a list of modules, which nobody calls: give the context_fn of this"
                " region to the checkpoint of what calls them"
            )
        if "forward" in vars(module):
            raise ValueError(
                f"rematlas: the forward of {path!r} is replaced already (an attribute of the module): take"
                " that back before wrap"
            )
        return module

    def contexts(self, regions, has_name):
        if not regions:
            raise ValueError(
                "rematlas: this policy has no regions, for the step fits its budget as it is: do not"
                " checkpoint it"
            )
        following = Following(regions, self.is_trusted)
        if not has_name:
            self.last = following
        forward, again = create_selective_checkpoint_contexts(following)
        return forward, Rerun(self, following, again)

    def is_trusted(self, region) -> bool:
        return region.module not in self.unexpected

    def likeliest_first(self) -> list:
        """Returns the regions in their order, starting with the region after the one that was called last."""
        regions = [*self.regions.values()]
        if self.last is not None and self.last.ran():
            self.next = (regions.index(self.last.furthest().region) + 1) % len(regions)
        return regions[self.next :] + regions[: self.next]

    def note_end(self, following) -> None:
        """Called before each rerun of the call. Notes whether the call's forward ran the expected ops. Warns
        the first time that a forward did not."""
        place = following.furthest()
        module = place.region.module
        if place.is_complete():
            self.unexpected.discard(module)
            return
        self.unexpected.add(module)
        if self.has_warned:
            return
        self.has_warned = True
        expected = place.region.ops[place.passed]
        warn(
            f"a call of {module!r} runs other ops than its plan was made of (it lacks"
            f" {expected.name} of {', '.join(expected.tensors)}): such calls recompute all; a plan made with"
            " these inputs, this mode and this autocast saves again"
        )


class Rerun:
    """The context of a rerun of a region's forward. A backward may enter it several times (retain_graph)."""

    def __init__(self, policy, following, context):
        self.policy = policy
        self.following = following
        self.context = context

    def __enter__(self):
        self.following.again = 0
        self.policy.note_end(self.following)
        return self.context.__enter__()

    def __exit__(self, *raised):
        return self.context.__exit__(*raised)
