import pytest

from baselines.deep.adversarial import CDAN, DANN
from baselines.deep.discrepancy import DAN, JAN
from baselines.deep.source_hypothesis import SHOT


@pytest.fixture(params=[DANN, CDAN, DAN, JAN, SHOT])
def method(request):
    """Each deep method."""
    return request.param
