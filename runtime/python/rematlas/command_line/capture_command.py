"""python -m rematlas capture"""

import json
import pathlib
import sys

from ..api import graph_of
from ..cards.absent_device import AbsentDevice
from ..cards.rank_links import WrongLinks
from ..cards.recorded_step import graph_of_step
from .model_function import ModelFunction, add_example, add_function, write, wrong
from .optimizer_options import add_optimizer, made_optimizer, step_end_options
from .shape_options import OF_RANKS, add_host_profile, add_shape_options, shape_options


def add(commands) -> None:
    parser = commands.add_parser("capture", help="records a step of a model and writes its graph")
    parser.set_defaults(do=capture)
    add_example(
        parser,
        "python -m rematlas capture nets:step -o step.graph.json",
        "python -m rematlas capture nets:step --device meta --device-profile h100 -o h100.graph.json",
        "python -m rematlas capture nets:step --device meta --device-profile h100 --mesh fsdp=8,tp=2",
    )
    add_function(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="x.graph.json",
        help="the graph file to write; by default the name of the model with .graph.json",
    )
    add_optimizer(parser)
    parser.add_argument(
        "--device",
        metavar="meta",
        help="meta: from shapes, for the card of --device-profile; by default where the model lies",
    )
    parser.add_argument("--device-profile", metavar="h100", help="with --device meta: the card to plan for")
    add_host_profile(parser, "with --device meta: ")
    add_shape_options(parser, "with --device meta: ")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument(
        "--progress-json", action="store_true", help="tell each stage on standard error, an object a line"
    )
    parser.add_argument("--quiet", action="store_true", help="as in `rematlas capture`: nothing is shown")


def tell(options, stage) -> None:
    if options.progress_json:
        print(json.dumps({"stage": stage}), file=sys.stderr, flush=True)


def capture(options) -> int:
    tell(options, "load")
    function = ModelFunction(options)
    model, args, kwargs = function.step(options.mesh, function.made)
    tell(options, "record")
    if options.device == "meta":
        text = graph_for_card(options, model, args, kwargs)
    else:
        check_device(options, model)
        text = graph_of(model, args, kwargs, made_optimizer(options, model), chunk_loss=options.chunk_loss)
    tell(options, "write")
    path = pathlib.Path(options.output or f"{json.loads(text)['name']}.graph.json")
    write(path, text)
    if options.json:
        graph = json.loads(text)
        told = {"graph": str(path), "ops": len(graph["ops"]), "tensors": len(graph["tensors"])}
        updates = graph.get("provenance", {}).get("optimizer", "")
        print(json.dumps(told | ({"updates": updates} if updates else {})))
    else:
        print(path)
    return 0


def graph_for_card(options, model, args, kwargs) -> str:
    if options.device_profile is None:
        wrong("--device meta: --device-profile is missing: the card to plan for (h100, or a profile's path)")
    ends = step_end_options(options)
    try:
        card = AbsentDevice(options.device_profile, options.host_profile)
    except ValueError as error:
        wrong(error)
    try:
        return graph_of_step(model, args, kwargs, card, **ends, **shape_options(options)).graph_text()
    except WrongLinks as error:
        wrong(error)


def check_device(options, model) -> None:
    """Checks the options of a step that really runs: options for steps from shapes are not allowed, and the
    model must be on the given device. Ends the command if this is not so."""
    for name in ("device_profile", "host_profile", "values", "autocast", *OF_RANKS):
        if getattr(options, name):
            wrong(f"--{name.replace('_', '-')}: goes with --device meta")
    own = {parameter.device.type for parameter in model.parameters()}
    if options.device is not None and own - {options.device.partition(":")[0]}:
        where = ", ".join(sorted(own))
        wrong(f"--device {options.device}: the function's model lies on {where}: move it there")
