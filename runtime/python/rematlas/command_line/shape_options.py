"""What is said of steps that are recorded from shapes: --values and --autocast."""


def add_shape_options(parser, where="") -> None:
    parser.add_argument(
        "--values", action="store_true", help=f"{where}the arguments keep the values that they have"
    )
    parser.add_argument(
        "--autocast", choices=("bf16", "f16"), help=f"{where}torch.autocast around the forward"
    )


def shape_options(options) -> dict:
    """Returns them as `graph_of_step` takes them."""
    return {"values": options.values, "autocast": options.autocast}
