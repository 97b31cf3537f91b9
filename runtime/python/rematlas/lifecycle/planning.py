"""The state in which a plan is made in the background, by this process or by another process of the same
training."""

import dataclasses
import logging

from .no_room import NoRoom
from .state import StateName, Unplanned

log = logging.getLogger("rematlas")


class Planning(Unplanned):
    name = StateName.PLANNING

    def step_within_budget(self, call, fits):
        return self.owner.run_original(call.args, call.kwargs, fits)

    def is_busy(self) -> bool:
        plan = self.call_plan.plan
        return plan.compiled.busy() or (self.is_received() and plan.shared.waits())

    def is_received(self) -> bool:
        """Says whether the plan is, or will be, in the store of the process group."""
        shared = self.call_plan.plan.shared
        return shared is not None and shared.is_received

    def settle(self) -> None:
        if not self.is_busy():
            self.conclude()

    def finish(self) -> None:
        self.call_plan.plan.compiled.wait()
        self.conclude()

    def conclude(self) -> None:
        """Called when planning has ended: takes the plan, or notes why there is none."""
        call_plan, plan = self.call_plan, self.call_plan.plan
        is_received = self.is_received()
        shared = plan.take_shared()
        if is_received:
            self.receive(shared)
            return
        answer = plan.compiled.answer()
        call_plan.note_answer(answer)
        if shared is not None:
            shared.publish(plan.compiled)
            plan.identity = shared.identity
        if answer.error is not None:
            call_plan.refuse(answer.error)
        elif answer.infeasible is None:
            call_plan.bind()
        else:
            self.conclude_infeasible()

    def can_take_updates(self) -> bool:
        """Says whether a step that does not fit can be planned together with the optimizer's updates."""
        updates = self.owner.updates
        return (
            updates is not None
            and updates.is_declared
            and not updates.refused_for_good
            and self.owner.state.watch is not None
        )

    def conclude_infeasible(self) -> None:
        call_plan, options, plain = self.call_plan, self.owner.options, self.call_plan.answer
        if call_plan.plan.take_spare():
            call_plan.start_planning()
            return
        why_not_with_updates = ""
        if self.can_take_updates():
            why_not_with_updates = call_plan.plan_directly()
            if not why_not_with_updates:
                return
        answer = plain if call_plan.answer.infeasible is None else call_plan.answer
        room = NoRoom(options.solver, answer)
        if answer is plain:  # a plan with updates already counts gradients and optimizer states
            room.foresee(call_plan.plan.kept_then, self.owner)
            updates = self.owner.updates
            why = why_not_with_updates or (updates.advice() if updates is not None else "")
            room.about_updates = f"; with the updates in the plan: {why}" if why else ""
        if call_plan.is_from_shapes and not call_plan.original.is_too_large and options.on_refuse == "warn":
            log.warning(
                "rematlas: %s, as far as shapes tell, where the loss is estimated: the step is recorded as"
                " it really runs",
                room.text(),
            )
            call_plan.record_really()
            return
        call_plan.refuse(room.text(), room.error(), room)

    def receive(self, shared) -> None:
        """Takes the plan of the leading rank. If that rank has refused the step, this rank refuses it, too.
        If no plan comes, or the plan does not fit here, this rank plans alone, or refuses the step if the
        ranks exchange data in it."""
        owner, call_plan, plan = self.owner, self.call_plan, self.call_plan.plan
        found = shared.received(plan.compiled)
        if isinstance(found, str):
            call_plan.refuse(found)
            return
        kept_by_loss = plan.compiled.answer().kept_by_loss_bytes
        answer = None if found is None else found.answer()
        if answer is None or not owner.has_room_for(plan.other_bytes + kept_by_loss + answer.peak_bytes):
            how = "is none" if found is None else "does not fit here"
            if owner.together.is_on:
                call_plan.refuse(
                    f"the plan of the leading rank {how}, and ranks that exchange data in their steps need"
                    " one plan"
                )
                return
            log.warning("rematlas: the plan of the leading rank %s: this process plans alone", how)
            call_plan.start_planning()
            return
        plan.compiled = plan.without_updates = found
        plan.identity = shared.identity
        own = {"kept_by_loss_bytes": kept_by_loss, "beside_bytes": plan.other_bytes}
        call_plan.note_answer(dataclasses.replace(answer, **own))
        call_plan.bind()
