"""Writes the generated pages of the reference.

    python reference_pages.py --write     # into docs/reference
    python reference_pages.py             # names the pages that are not up to date; then the status is 1

The script uses the environment variables of running.py.
"""

import argparse
import sys

import commands_page
import python_page
from running import ROOT

PAGES = {"commands.md": commands_page.page, "python.md": python_page.page}
FOLDER = ROOT / "docs" / "reference"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the pages")
    options = parser.parse_args()
    old = [name for name, page in PAGES.items() if is_old(name, page(), options.write)]
    print(*(f"{FOLDER / name}: {'written' if options.write else 'not up to date'}" for name in old), sep="\n")
    return 1 if old and not options.write else 0


def is_old(name: str, text: str, write: bool) -> bool:
    path = FOLDER / name
    if path.exists() and path.read_text() == text:
        return False
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return True


if __name__ == "__main__":
    sys.exit(main())
