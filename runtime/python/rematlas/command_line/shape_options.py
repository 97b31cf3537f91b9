"""The options of recorded steps: --values, --autocast, --host-profile, --mesh, --links,
--param-dtype and --reduce-dtype for steps from shapes, and --chunk-loss for all steps."""

import argparse

from ..cards.absent_mesh import dimensions_of
from ..cards.recorded_step import StepOptions
from ..cards.sharding import TYPES
from ..loss_head.chunking import check_chunk_loss
from .model_function import wrong

OF_RANKS = ("mesh", "param_dtype", "reduce_dtype", "rank_links")


def add_shape_options(parser, where="", *, several_meshes=False) -> None:
    parser.add_argument(
        "--values", action="store_true", help=f"{where}the arguments keep the values that they have"
    )
    parser.add_argument(
        "--autocast", choices=("bf16", "f16"), help=f"{where}torch.autocast around the forward"
    )
    parser.add_argument(
        "--chunk-loss",
        type=chunks,
        metavar="CHUNKS",
        help="chunks of tokens in which a language model of transformers computes head and loss, or auto",
    )
    parser.add_argument(
        "--mesh",
        type=mesh,
        metavar="fsdp=8,tp=2",
        action="append" if several_meshes else "store",
        help=f"{where}the ranks among which the model is divided, the outermost dimension first; the step is"
        " that of one rank. fsdp: shards (fully_shard on each repeated block and the whole), dp or replicate:"
        " replicas, tp: the plan of tensor parallelism of a model of transformers. A function that takes the"
        " keyword mesh, a DeviceMesh, divides its model itself, along dimensions of any names"
        + ("; several times: each mesh is answered" if several_meshes else ""),
    )
    parser.add_argument(
        "--links",
        dest="rank_links",
        metavar="nvlink4,ib400",
        help=f"{where}with --mesh: the links between ranks, within nodes and between nodes: nvlink3, nvlink4,"
        " nvlink5, pcie4, ib200, ib400, ib800, or paths of files; by default what such a card mostly has",
    )
    types = [name for name in TYPES if name]
    parser.add_argument(
        "--param-dtype", choices=types, help=f"{where}with fsdp: the type of gathered parameters"
    )
    parser.add_argument(
        "--reduce-dtype", choices=types, help=f"{where}with fsdp: the type in which gradients are reduced"
    )


def mesh(text: str) -> dict:
    return checked(dimensions_of, text)


def chunks(text: str):
    asked = int(text) if text.isdecimal() else text
    checked(check_chunk_loss, asked)
    return asked


def checked(check, value):
    """Returns `check(value)`. Its ValueErrors become errors of the command line."""
    try:
        return check(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("rematlas: ")) from None


def add_host_profile(parser, where="") -> None:
    parser.add_argument(
        "--host-profile",
        metavar="desktop",
        help=f"{where}the host on which updates may run: desktop, workstation, server_share, grace, or a file"
        " that `rematlas links` wrote; by default what such a card mostly has",
    )


def shape_options(options) -> dict:
    """Returns the options as keyword arguments of `graph_of_step`. Ends the command if one of the options
    needs another one, or excludes it."""
    names = ("values", "autocast", "chunk_loss", *OF_RANKS)
    found = {name: getattr(options, name) for name in names}
    try:
        StepOptions(**found).dimensions()
    except ValueError as error:
        wrong(error)
    return found
