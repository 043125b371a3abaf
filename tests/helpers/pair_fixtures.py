"""The pairs of domains as fixtures; a conftest imports those that its tests need."""

from __future__ import annotations

import pytest
from domain_pairs import DOMAINS, Domains, rotated_moons, shifted_blobs


@pytest.fixture(params=DOMAINS)
def domains(request: pytest.FixtureRequest) -> Domains:
    """Three pairs of domains in turn: rotated moons, scaled 5-d blobs, skewed 8-d columns."""
    return DOMAINS[request.param]()


@pytest.fixture
def blobs() -> Domains:
    return shifted_blobs()


@pytest.fixture
def moons() -> Domains:
    return rotated_moons()
