"""The sections of the page, in their order."""

from __future__ import annotations

from speed import adaptation, together, transport

SECTIONS = (transport.SECTION, adaptation.ADAPTATION, adaptation.SCALE, together.SECTION)
