"""The report: one HTML page that holds everything a run has to tell, and needs no network.

:func:`render_report` makes it from the records and the figures beside them. All numbers on the page
are computed from those; the template holds none.
"""

from experiments.reading.report.page import NAME, render_report

__all__ = ["NAME", "render_report"]
