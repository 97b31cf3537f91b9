"""python -m rematlas run"""

import json

from ..plan_file import Plan
from ..run import run, text_of
from .model_function import ModelFunction, add_example, add_function, wrong


def add(commands) -> None:
    parser = commands.add_parser("run", help="trains by a plan, and compares with the original")
    parser.set_defaults(do=run_by_plan)
    add_example(parser, "python -m rematlas run nets:step step.plan --steps 5 --verify")
    add_function(parser)
    parser.add_argument("plan", metavar="x.plan", help="a plan, or a schedule with its graph file beside it")
    parser.add_argument("--steps", type=positive, default=5, help="training steps; 5 by default")
    parser.add_argument("--seed", type=int, default=1, help="seed of the model's random numbers")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the original too (it must fit into memory) and compare bit by bit",
    )
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument(
        "--quiet", action="store_true", help="as in `rematlas run`; there is no progress to show"
    )


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def run_by_plan(options) -> int:
    try:
        plan = Plan.read(options.plan)
    except (OSError, ValueError) as error:
        wrong(error)
    made = ModelFunction(options).made()
    report = run(*made, plan, steps=options.steps, seed=options.seed, verify=options.verify)
    print(json.dumps(report) if options.json else text_of(report))
    return 1 if report["verified"] is False else 0
