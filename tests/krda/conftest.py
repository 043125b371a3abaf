import pytest

from krda import _switch


@pytest.fixture(scope="module", params=["fast", "plain"])
def fast_or_plain(request):
    """Run a module's tests with the accelerators, and with the plain code alone."""
    if request.param == "plain":
        with _switch.plain_only():
            yield
    else:
        if "krda.density.mixture.quantile" not in _switch.fast_functions():
            pytest.skip("numba is not installed")
        yield
