"""Prints one JSON object. It says which functions of a Python file can be captured, which GPUs this machine
has, and which versions of torch and rematlas are installed in this Python. Nothing in the file is run.

    python3 python_survey.py FILE.py            # or:  package.module FOLDER
    python3 python_survey.py --file MODEL.pt

With --file, no functions are listed. Instead, the object has the first and the last mebibyte of the model's
file, and the text of the JSON file beside it that describes the model's inputs.
"""

import ast
import base64
import contextlib
import glob
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys

# If a GPU's driver is installed, one of these exists: for NVIDIA, AMD, or Windows (WSL).
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
NAMES_OF_GPUS = "/proc/driver/nvidia/gpus/*/information"
PART = 1 << 20  # bytes at the beginning and at the end of a model's file that are printed


def place_of(path):
    """Returns the folder from which a file can be imported, and its module name."""
    folder, name = os.path.split(os.path.abspath(path))
    names = [] if name == "__init__.py" else [os.path.splitext(name)[0]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        names.insert(0, package)
    return folder, ".".join(names)


def file_of(module, folder):
    """Returns the path of a module's file, or None if there is no such module. Does not run the packages that
    contain the module."""
    found, places, name = None, [folder, *sys.path], ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        found = importlib.machinery.PathFinder.find_spec(name, places)
        if found is None:
            return None
        places = found.submodule_search_locations or []
    return found.origin if found.has_location else None


def needs_arguments(node):
    given = node.args
    plain = len(given.posonlyargs) + len(given.args) - len(given.defaults)
    return plain > 0 or None in given.kw_defaults


def keywords_of(node):
    """Returns the keyword arguments with their defaults: batch=8, length=128."""
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    pairs = list(zip(names[len(names) - len(given.defaults) :], given.defaults))
    pairs += zip((one.arg for one in given.kwonlyargs), given.kw_defaults)
    return ", ".join(f"{name}={ast.unparse(default)}" for name, default in pairs)


def own_nodes(node):
    """Returns the syntax nodes within a function, except those of nested functions and classes."""
    found = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            found += [child, *own_nodes(child)]
    return found


def looks_right(node):
    """Says whether a function can return two or three values, such as (model, args)."""
    values = [one.value for one in own_nodes(node) if isinstance(one, ast.Return)]
    return any(isinstance(value, ast.Tuple) and len(value.elts) in (2, 3) for value in values)


def functions_of(path):
    """Returns the functions of a file that can be called without arguments. Raises OSError, SyntaxError and
    ValueError."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    functions = {}  # a later definition of a name replaces an earlier one
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        functions.pop(node.name, None)
        if not needs_arguments(node):
            about = (ast.get_docstring(node) or "").strip().partition("\n")[0]
            functions[node.name] = {
                "name": node.name,
                "about": about,
                "keywords": keywords_of(node),
                "likely": looks_right(node),
            }
    return list(functions.values())


def version_of(package):
    """Returns the version of a package: "here" if it has no metadata, as in a checkout; empty if there is no
    such package."""
    if importlib.util.find_spec(package) is None:
        return ""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "here"


def names_of_gpus():
    """Returns the names of NVIDIA's GPUs, as their driver tells them."""
    names = []
    for path in sorted(glob.glob(NAMES_OF_GPUS)):
        with contextlib.suppress(OSError), open(path, errors="replace") as information:
            names += [line.partition(":")[2].strip() for line in information if line.startswith("Model:")]
    return names


def graphs_for(file):
    """Returns the path of a graph file that does not exist yet, and the paths of all graph files in the same
    folder. This is the folder of the model's file, or the home folder if the model's folder is not writable.
    """
    folder, name = os.path.split(file)
    if not os.access(folder, os.W_OK):
        folder = os.path.expanduser("~")
    name = os.path.splitext(name)[0]
    there = sorted(glob.glob(os.path.join(glob.escape(folder), "*.graph.json")))
    free, number = os.path.join(folder, f"{name}.graph.json"), 2
    while free in there:
        free, number = os.path.join(folder, f"{name}-{number}.graph.json"), number + 1
    return free, there


def ends_of(path):
    """Returns the beginning and the end of a file, or the whole file if it is short."""
    with open(path, "rb") as file:
        first = file.read(PART)
        rest = file.seek(0, os.SEEK_END) - len(first)
        file.seek(-min(rest, PART), os.SEEK_END)
        return first + file.read()


def beside(path):
    """Returns the text of the file with the model's inputs; empty if there is no such file."""
    for name in (os.path.splitext(path)[0] + ".json", path + ".json"):
        if os.path.isfile(name):
            with open(name, encoding="utf-8", errors="replace") as file:
                return file.read(PART)
    return ""


def surveyed(words):
    told = {"python": sys.executable, "version": platform.python_version()}
    told |= {name: version_of(name) for name in ("torch", "rematlas")}
    told |= {"gpu": any(map(os.path.exists, GPUS)), "functions": [], "problem": ""}
    told["gpus"] = names_of_gpus()
    if words[0] == "--file":
        return told | of_model(os.path.abspath(words[1]))
    told |= of_python(words)
    if told["file"]:
        told["graph"], told["graphs"] = graphs_for(told["file"])
    return told


def of_model(path):
    told = {"file": path}
    try:
        told["ends"] = base64.b64encode(ends_of(path)).decode()
        told["beside"] = beside(path)
        told["graph"], told["graphs"] = graphs_for(path)
    except OSError as error:
        told["problem"] = error.strerror
    return told


def of_python(words):
    told = {"problem": ""}
    if len(words) == 1:
        told["file"] = os.path.abspath(words[0])
        told["folder"], told["module"] = place_of(words[0])
        if "." in os.path.splitext(os.path.basename(words[0]))[0]:
            told["problem"] = "a file with a dot in its name cannot be imported: rename it"
            return told
    else:
        told["module"], told["folder"] = words
        told["file"] = file_of(*words) or ""
    if not told["file"]:
        told["problem"] = f"there is no module {told['module']} in {told['folder']}, nor in this Python"
        return told
    try:
        told["functions"] = functions_of(told["file"])
    except SyntaxError as error:
        told["problem"] = f"line {error.lineno}: {error.msg}"
    except (OSError, ValueError) as error:
        told["problem"] = str(error)
    return told


if __name__ == "__main__":
    print(json.dumps(surveyed(sys.argv[1:])))
