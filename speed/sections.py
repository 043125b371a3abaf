"""The sections of the page, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from speed import fits, transport
from speed.measure import Case
from speed.plan import Sizes


class Section(NamedTuple):
    """A table of the page: name of its file, title, and its groups of cases."""

    name: str
    title: str
    groups: Callable[[Sizes], Iterator[list[Case]]]


SECTIONS = (
    Section("transport", "Transport between two fitted densities", transport.groups),
    Section("adaptation", "Whole adaptation: fit and transport the source", fits.adaptation),
    Section("scale", "Scale", fits.scale),
    Section("together", "Repetitions of a cell fitted together", fits.together),
    Section("deep", "Deep baselines beside dalib's loop", fits.deep),
)
