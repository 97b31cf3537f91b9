"""The options of recorded steps: --values, --autocast and --host-profile for steps from shapes, and
--chunk-loss for all steps."""

import argparse

from ..loss_head.chunking import check_chunk_loss


def add_shape_options(parser, where="") -> None:
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


def chunks(text: str):
    asked = int(text) if text.isdecimal() else text
    try:
        check_chunk_loss(asked)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("rematlas: ")) from None
    return asked


def add_host_profile(parser, where="") -> None:
    parser.add_argument(
        "--host-profile",
        metavar="desktop",
        help=f"{where}the host on which updates may run: desktop, workstation, server_share, grace, or a file"
        " that `rematlas links` wrote; by default what such a card mostly has",
    )


def shape_options(options) -> dict:
    """Returns the options as keyword arguments of `graph_of_step`."""
    return {"values": options.values, "autocast": options.autocast, "chunk_loss": options.chunk_loss}
