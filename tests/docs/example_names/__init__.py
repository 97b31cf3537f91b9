"""Names that the examples of headers use without defining them.

NAMES has the declarations for single headers. The .h files declare the names that headers of one floor
(a folder such as viz) share.
"""

from example_names import app, core, explorer, runtime, viz

NAMES = core.NAMES | viz.NAMES | app.NAMES | explorer.NAMES | runtime.NAMES
