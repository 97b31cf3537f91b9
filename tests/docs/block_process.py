"""Runs the Python blocks of a page in one namespace. The blocks arrive on standard input as lines of JSON.

The output of a block goes to standard output, followed by a zero byte and `done` or `raised`. Errors are
printed in Python's form; they name the page and the lines in the page.
"""

import json
import linecache
import os
import sys
import traceback
import types


def main() -> None:
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[0] = os.getcwd()
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    for request in iter(requests.readline, b""):
        answer = "done" if run_block(json.loads(request), vars(program)) else "raised"
        sys.stdout.flush()
        os.write(1, f"\0{answer}\n".encode())


def run_block(block: dict, names: dict) -> bool:
    """Runs a block. Returns whether it ends without an error."""
    text = "\n" * block["line"] + block["text"]  # the line numbers are then those of the page
    file = block["page"]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec"), names)
    except BaseException as error:
        behind = error.__traceback__.tb_next  # without the frame of this file
        print("".join(traceback.format_exception(type(error), error, behind)), end="")
        return False
    return True


if __name__ == "__main__":
    main()
