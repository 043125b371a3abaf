"""The Knothe-Rosenblatt map as an adapter of skada's pipelines.

    python examples/skada_adapter.py

``make_da_pipeline(KnotheRosenblattAdapter(), SVC())`` transports the source rows and trains the
classifier on them; target rows are predicted as they are. skada's scorers, splitters and searches
then work with it. Needs ``pip install skada``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from skada import make_da_pipeline
from skada.base import BaseAdapter
from skada.utils import check_X_domain, source_target_merge, source_target_split
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from krda import KnotheRosenblatt


class KnotheRosenblattAdapter(BaseAdapter):
    """Transport source rows to the target; leave target rows as they are.

    Parameters are some of those of :class:`krda.KnotheRosenblatt`. skada passes both domains as one
    table with ``sample_domain``: positive for source rows, negative for target rows.
    """

    def __init__(
        self,
        n_components: int = 5,
        hidden_size: int = 50,
        max_steps: int = 1000,
        random_state: int | None = None,
    ) -> None:
        super().__init__()
        self.n_components = n_components
        self.hidden_size = hidden_size
        self.max_steps = max_steps
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None) -> KnotheRosenblattAdapter:
        """Fit the map from all source rows to all target rows; labels are not used."""
        X, sample_domain = check_X_domain(X, sample_domain)
        Xs, Xt = source_target_split(X, sample_domain=sample_domain)
        self.map_ = KnotheRosenblatt(**self.get_params()).fit(Xs, Xt)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, **params: Any
    ) -> Any:
        """Fit the map and transport the source rows."""
        self.fit(X, sample_domain=sample_domain)
        return self.transform(X, sample_domain=sample_domain, allow_source=True)

    def transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        allow_source: bool = False,
        **params: Any,
    ) -> Any:
        """Transport the source rows of a table, if there are any."""
        X, sample_domain = check_X_domain(X, sample_domain, allow_source=allow_source)
        Xs, Xt = source_target_split(X, sample_domain=sample_domain)
        if len(Xs):
            Xs = self.map_.transform(Xs)
        return source_target_merge(Xs, Xt, sample_domain=sample_domain)[0]


if __name__ == "__main__":
    sklearn.set_config(enable_metadata_routing=True)  # as skada does when it is imported
    Xs, ys = make_moons(200, noise=0.05, random_state=0)
    Xt, yt = make_moons(200, noise=0.05, random_state=1)
    Xt = Xt * [2, 0.5] + [3, 1]
    X, y = np.vstack([Xs, Xt]), np.concatenate([ys, yt])  # skada masks the target's labels
    domain = np.repeat([1, -2], 200)
    model = make_da_pipeline(KnotheRosenblattAdapter(random_state=0), SVC())
    model.fit(X, y, sample_domain=domain)
    print(f"accuracy on the target: {100 * np.mean(model.predict(Xt) == yt):.1f} %")
