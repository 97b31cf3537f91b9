"""Reports on this Python in lines of JSON. Before each stage the probe prints a line with the name of the
stage, so that the reader can see in which stage a process died or hung."""

import importlib.util
import json
import platform
import sys


def tell(**facts):
    print(json.dumps(facts), flush=True)


def first_line(error):
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def tell_stage(stage, facts):
    """Prints that the stage begins, and then the result of `facts`, or its error."""
    tell(begins=stage)
    try:
        tell(stage=stage, **facts())
    except BaseException as error:
        tell(stage=stage, error=first_line(error))


def torch_facts():
    import torch

    return {"version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip}


def device_facts():
    import torch

    if not torch.cuda.is_available():
        return {"devices": []}
    all_devices = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    return {"devices": [{"name": device.name, "bytes": device.total_memory} for device in all_devices]}


def package_facts():
    import rematlas
    from rematlas.library import folder

    return {"folder": rematlas.__path__[0], "programs": str(folder())}


def is_installed(package):
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def main():
    installed = {name: "installed" for name in ("torch", "rematlas") if is_installed(name)}
    tell(stage="python", version=platform.python_version(), executable=sys.executable, **installed)
    if "torch" in installed:
        tell_stage("torch", torch_facts)
        tell_stage("devices", device_facts)
        if "rematlas" in installed:
            tell_stage("package", package_facts)


main()
