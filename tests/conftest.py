import hypothesis
import pytest

from experiments.threads import limit_threads

# Before any numerical library is loaded: results and times are those of one thread.
limit_threads()

# A test fails for what it computes, not for how long a busy machine takes.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=30)
hypothesis.settings.load_profile("quick")


@pytest.fixture(autouse=True, scope="module")
def _settings_of_sklearn():
    """Give each module scikit-learn's own settings: skada changes them when it is imported."""
    import sklearn

    with sklearn.config_context(enable_metadata_routing=False):
        yield
