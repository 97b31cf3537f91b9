"""What is said of steps that are recorded from shapes: --values, --autocast and --host-profile."""


def add_shape_options(parser, where="") -> None:
    parser.add_argument(
        "--values", action="store_true", help=f"{where}the arguments keep the values that they have"
    )
    parser.add_argument(
        "--autocast", choices=("bf16", "f16"), help=f"{where}torch.autocast around the forward"
    )


def add_host_profile(parser, where="") -> None:
    parser.add_argument(
        "--host-profile",
        metavar="desktop",
        help=f"{where}the host on which updates may run: desktop, workstation, server_share, grace, or a file"
        " that `rematlas links` wrote; by default what such a card mostly has",
    )


def shape_options(options) -> dict:
    """Returns them as `graph_of_step` takes them."""
    return {"values": options.values, "autocast": options.autocast}
