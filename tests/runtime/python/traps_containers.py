"""Traps of tuples and lists of tensors that a forward leaves in an attribute for the next forward."""

import collections
import contextlib

import torch
from torch import nn

from traps import CHANGE, WIDTH, Trap, after_change, blocks, data, trap

LATE = CHANGE + 2  # the first steps have no state, so their ops differ
State = collections.namedtuple("State", "hidden cell")


def zeros() -> torch.Tensor:
    return torch.zeros(64, WIDTH)


class Recurrent(nn.Module):
    """A model that sets an attribute to a new container of two tensors in each forward. Before the first
    forward there is no container."""

    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()
        self.state = None

    def kept(self, hidden, cell):
        return hidden, cell

    def found(self):
        return self.state

    def forward(self, x):
        hidden, cell = (zeros(), zeros()) if self.state is None else self.found()
        hidden = self.first(x + 0.5 * hidden)
        cell = 0.5 * cell + hidden
        self.state = self.kept(hidden.detach(), cell.detach())
        return self.second(hidden + cell)


def state_trap(model=Recurrent, **others) -> Trap:
    return Trap(model(), observe=lambda model: (type(model.state).__name__, model.state), **others)


def every_fourth(change):
    """Returns a function for `Trap.between` that makes the change after every fourth step."""
    return lambda model, step: change(model) if step % 4 == 0 else None


@trap
def tuple_for_the_next_step():
    return state_trap()


@trap
def list_for_the_next_step():
    class Model(Recurrent):
        def kept(self, hidden, cell):
            return [hidden, cell]

    return state_trap(Model)


@trap
def named_tuple_for_the_next_step():
    class Model(Recurrent):
        def kept(self, hidden, cell):
            return State(hidden=hidden, cell=cell)

        def found(self):
            return self.state.hidden, self.state.cell

    return state_trap(Model)


class OfTwoLayers(Recurrent):
    """A model whose state is a tuple of two tensors for each of two layers."""

    def forward(self, x):
        first, second = ((zeros(), zeros()),) * 2 if self.state is None else self.state
        found = []
        for layer, (hidden, cell) in ((self.first, first), (self.second, second)):
            x = layer(x + 0.5 * hidden)
            found.append((x.detach(), (0.5 * cell + x).detach()))
            x = x + cell
        self.state = tuple(found)
        return x


@trap
def tuples_in_a_tuple_for_the_next_step():
    return state_trap(OfTwoLayers)


@trap
def tuple_of_lists_for_the_next_step():
    class Model(Recurrent):
        def kept(self, hidden, cell):
            return [hidden], True, [cell]

        def found(self):
            return self.state[0][0], self.state[2][0]

    return state_trap(Model)


@trap
def tuple_in_a_submodule():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.last = Recurrent(), blocks()

        def forward(self, x):
            return self.last(self.inner(x))

    return Trap(Model(), observe=lambda model: model.inner.state)


@trap
def tuple_whose_second_tensor_stays():
    """Only the first of the two tensors is new in each step."""

    class Model(Recurrent):
        def forward(self, x):
            hidden, cell = (zeros(), torch.ones(64, WIDTH)) if self.state is None else self.state
            x = self.first(x + 0.5 * hidden) * cell
            self.state = x.detach(), cell
            return self.second(x)

    return state_trap(Model)


@trap
def tuple_kept_for_a_log():
    """No op reads the tuple, but after each step the attribute must hold the tuple of this step."""

    class Model(Recurrent):
        def forward(self, x):
            x = self.first(x)
            self.state = x.detach().mean(), x.detach().amax()
            return self.second(x)

    return state_trap(Model)


@trap
def tuple_with_a_number_that_grows():
    """The forward computes with the number in the tuple, which differs in each step."""

    class Model(Recurrent):
        def forward(self, x):
            hidden, count = (zeros(), 1) if self.state is None else self.state
            x = self.first(x + hidden / count)
            self.state = x.detach(), count + 1
            return self.second(x)

    return state_trap(Model, expected="refused")


@trap
def tuple_set_back_to_none():
    return state_trap(between=every_fourth(lambda model: setattr(model, "state", None)), expected="either")


@trap
def tuple_replaced_by_another_one():
    """The program replaces the tuple's tensors by new tensors of the same size."""

    def replace(model):
        model.state = data(99, 64, WIDTH), data(98, 64, WIDTH)

    return state_trap(between=every_fourth(replace))


@trap
def tuple_of_tensors_of_another_size():
    def replace(model):
        model.state = torch.ones(1, WIDTH), torch.ones(WIDTH)

    return state_trap(between=every_fourth(replace), expected="either")


@trap
def tuple_of_one_tensor_twice():
    def replace(model):
        model.state = (torch.ones(64, WIDTH),) * 2

    return state_trap(between=every_fourth(replace), expected="either")


@trap
def tuple_that_becomes_a_list():
    """The forward treats tuples and lists differently."""

    class Model(Recurrent):
        def found(self):
            hidden, cell = self.state
            return (hidden, cell) if isinstance(self.state, tuple) else (2 * hidden, cell)

    return state_trap(
        Model,
        between=lambda model, step: step == LATE and setattr(model, "state", list(model.state)),
        expected="either",
        least_replayed=1,
    )


class WithList(Recurrent):
    def kept(self, hidden, cell):
        return [hidden, cell]


@trap
def list_that_the_program_changes_in_place():
    return state_trap(WithList, between=every_fourth(lambda model: model.state.__setitem__(0, zeros())))


@trap
def tensors_of_a_tuple_written_in_place():
    return state_trap(between=every_fourth(lambda model: model.state[1].zero_()))


@trap
def list_that_the_forward_changes_in_place():
    class Model(WithList):
        def forward(self, x):
            hidden, cell = (zeros(), zeros()) if self.state is None else self.state
            hidden = self.first(x + 0.5 * hidden)
            cell = 0.5 * cell + hidden
            if self.state is None:
                self.state = [hidden.detach(), cell.detach()]
            else:
                self.state[:] = hidden.detach(), cell.detach()
            return self.second(hidden + cell)

    return state_trap(Model, expected="refused")


@trap
def list_in_a_tuple_that_the_forward_changes_in_place():
    class Model(Recurrent):
        def kept(self, hidden, cell):
            inner = [] if self.state is None else self.state[0]
            inner[:] = hidden, cell
            return inner, hidden.mean()

        def found(self):
            return self.state[0]

    return state_trap(Model, expected="refused")


@trap
def list_that_others_hold():
    """The program holds the list of the newest forward. The attribute must be the same object."""
    held = []

    class Model(WithList):
        def kept(self, hidden, cell):
            held[:] = [[hidden, cell]]
            return held[0]

    return state_trap(
        Model, between=lambda model, step: held[0].__setitem__(0, data(step, 64, WIDTH)), expected="refused"
    )


@trap
def tuple_with_its_history():
    """The tensors of the tuple have an autograd graph, but the forwards that read these tensors detach them
    first."""

    class Model(Recurrent):
        def forward(self, x):
            hidden, cell = (zeros(), zeros()) if self.state is None else self.state
            hidden = self.first(x + 0.5 * hidden.detach())
            self.state = hidden, cell + 1
            return self.second(hidden)

    return state_trap(Model, expected="either")


class WithHistory(Recurrent):
    def forward(self, x):
        hidden, cell = (zeros(), zeros()) if self.state is None else self.state
        hidden = self.first(x + 0.5 * hidden)
        self.state = hidden, cell + hidden
        return self.second(hidden + cell)


@trap
def gradients_through_tuples_of_all_steps():
    """The state is never detached, so each backward goes through the autograd graphs of all earlier steps."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        loss.backward(retain_graph=True)
        return loss

    def update(optimizer, step):
        """Does nothing. An update would change weights that earlier autograd graphs have saved, and later
        backwards go through these graphs again."""

    return state_trap(WithHistory, body=body, update=update, expected="refused")


@trap
def tuple_that_the_program_detaches():
    def detach(model, step):
        model.state = tuple(part.detach() for part in model.state)

    return state_trap(WithHistory, between=detach)


@trap
def tuple_for_the_next_of_two_open_forwards():
    def body(model, batch, step):
        loss = (model(data(step, 64, WIDTH)) - model(data(step + 100, 64, WIDTH))).square().mean()
        loss.backward()
        return loss

    return state_trap(body=body)


@trap
def tuple_dropped_before_the_backward():
    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if step % 4 == 0:
            model.state = None
        loss.backward()
        return loss

    return state_trap(body=body, expected="either")


@trap
def list_with_a_second_backward():
    """The plan cannot run the backward of some steps, so the original runs their forward again. This forward
    must read the former state, but by then the program has changed the list that held this state."""
    held = []

    def body(model, batch, step):
        held[:] = [model.state]
        loss = model(*batch(step)[0]).square().mean()
        if held[0] is not None:
            held[0][:] = zeros(), zeros()
        if step > LATE:
            (gradient,) = torch.autograd.grad(loss, [model.first[0].weight], create_graph=True)
            loss = loss + gradient.square().sum()
        loss.backward()
        return loss

    return state_trap(WithList, body=body, expected="either", least_replayed=1)


@trap
def evaluation_between_the_steps():
    """The evaluation reads and replaces the state. In some steps the program then restores the training's
    state."""

    def evaluate(model, step):
        before = model.state
        model.eval()
        with torch.no_grad():
            model(data(step + 50, 64, WIDTH))
        model.train()
        if step % 2:
            model.state = before

    return state_trap(between=evaluate)


@trap
def forwards_of_the_original_in_between():
    """Between the steps, forwards run under saved tensor hooks. No plan runs such forwards."""

    def between(model, step):
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            model(data(step + 50, 64, WIDTH))

    return state_trap(between=between)


@trap
def exception_after_the_state_is_set():
    """A forward fails after it has set a new state, and training goes on with this state."""

    class Fails(Exception):
        pass

    class Model(Recurrent):
        def forward(self, x, fails=False):
            x = super().forward(x)
            if fails:
                raise Fails
            return x

    def fail(model):
        with contextlib.suppress(Fails):
            model(data(77, 64, WIDTH), fails=True)

    return state_trap(Model, between=after_change(fail))


class WithoutLength(tuple):
    """A tuple that cannot be looked at, as the irreducible representations of e3nn are."""

    def __len__(self):
        raise NotImplementedError

    def __iter__(self):
        raise NotImplementedError


class WithoutAttributes:
    @property
    def __dict__(self):
        raise NotImplementedError


@trap
def attributes_that_raise_errors_when_they_are_looked_at():
    """The model has attributes whose own methods raise errors. They are compared by their identity."""
    model = nn.Sequential(blocks(), blocks())
    model.kind, model.other = WithoutLength((1, 2)), WithoutAttributes()
    return Trap(model)
