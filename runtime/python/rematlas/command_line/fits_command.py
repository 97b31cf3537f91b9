"""python -m rematlas fits"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from .. import library
from ..cards.fits import Steps, cards_named, fits_of_steps, text_of
from ..copies import CHOICES
from .model_function import ModelFunction, NotMade, add_example, add_function, write, wrong
from .optimizer_options import add_optimizer, step_end_options
from .shape_options import add_host_profile, add_shape_options, shape_options

PICTURES = (".svg", ".png", ".pdf")


def add(commands) -> None:
    parser = commands.add_parser(
        "fits", help="tells which cards a training step fits: as it is, recomputed, offloaded"
    )
    parser.set_defaults(do=fits)
    add_example(
        parser,
        "rematlas fits nets:step --optimizer adamw --cards h100,rtx4090",
        "rematlas fits nets:step --cards h100 --vary batch --offload all",
        "rematlas fits nets:step --mesh fsdp=8 --mesh fsdp=4,tp=2 --param-dtype bf16 --cards h100",
    )
    add_function(parser)
    add_optimizer(parser)
    parser.add_argument(
        "--cards",
        metavar="h100,rtx4090",
        help="device profiles, with commas; by default all that come with the package",
    )
    parser.add_argument(
        "--offload", choices=CHOICES, default="none", help="what may be copied to the host, as for solve"
    )
    parser.add_argument(
        "--vary",
        metavar="KEYWORD",
        help="a keyword of the function, such as batch or length: finds a number for it that fits, where two"
        " percent more does not",
    )
    parser.add_argument(
        "--max-overhead", type=float, metavar="1.1", help="the most time that counts as fitting"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="for each card and way; 4 by default, 20 with --mesh",
    )
    add_host_profile(parser, "of all cards; ")
    add_shape_options(parser, several_meshes=True)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument(
        "-o", "--output", metavar="x.fits.json", help="writes that object, which `rematlas draw` reads"
    )
    parser.add_argument("--plot", metavar="x.svg", help="draws a picture: .svg, .png or .pdf")
    parser.add_argument("--quiet", action="store_true", help="no progress; there is none to show")


def draw(found, path) -> None:
    """Makes the compiled program draw the picture."""
    with tempfile.TemporaryDirectory() as folder:
        answer = pathlib.Path(folder) / "x.fits.json"
        write(answer, json.dumps(found))
        done = subprocess.run(
            [library.folder() / "rematlas", "draw", answer, "-o", path], capture_output=True, text=True
        )
    if done.returncode != 0:
        wrong(done.stderr.strip())


def fits(options) -> int:
    if options.plot is not None and pathlib.Path(options.plot).suffix.lower() not in PICTURES:
        wrong(f"--plot {options.plot}: a picture ends in {', '.join(PICTURES)}")
    function = ModelFunction(options)
    varies = options.vary
    base = None if varies is None else function.value_of(varies)
    answers = []
    for mesh in options.mesh or [None]:
        of_mesh = argparse.Namespace(**vars(options) | {"mesh": mesh})
        answers.append(found_on(of_mesh, function, base))
    found = answers[0] | {"cards": [card for answer in answers for card in answer["cards"]]}
    found |= {"name": function.name, "varies": varies or ""}
    if options.output is not None:
        write(options.output, json.dumps(found))
    if options.plot is not None:
        draw(found, options.plot)
    if options.json:
        print(json.dumps(found))
    else:
        print(text_of(found, varies))
    return 0 if any(way["fits"] for card in found["cards"] for way in card["ways"]) else 1


def found_on(options, function, base) -> dict:
    """Returns the answer for one mesh, or for no mesh. `base`: the value of the varied keyword that is tried
    first; None if nothing varies. Ends the command if the options are wrong."""

    def step(value):
        return function.step(options.mesh, **({} if value is None else {options.vary: value}))

    try:
        return fits_of_steps(
            Steps(step, step_end_options(options) | shape_options(options)),
            cards_named(options.cards, options.host_profile),
            options.offload,
            options.max_overhead,
            options.time_limit,
            base=base,
        )
    except (ValueError, NotMade) as error:
        wrong(error)
