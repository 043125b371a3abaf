import pytest

from krda import mixture


@pytest.fixture(scope="module", params=["compiled", "torch"])
def compiled_or_not(request):
    """Run a module's tests with the compiled loops, and with what is done where numba is not."""
    if request.param == "compiled" and not mixture.COMPILED:
        pytest.skip("numba is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "COMPILED", request.param == "compiled")
        yield
