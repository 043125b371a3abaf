"""HEPMASS, the real data: twenty tasks between five masses (paper, section 6, "Hepmass")."""

from __future__ import annotations

from pathlib import Path

from experiments.datasets import hepmass_prepare
from experiments.datasets.base import Task
from experiments.datasets.collisions import TASK_NAMES, Rows, check_task_name, draw_task
from experiments.datasets.hepmass_cache import PreparedDataError, load_rows, read_manifest
from experiments.datasets.raw import RawDataError


class Hepmass:
    """The HEPMASS collisions: task ``500-750`` adapts from mass 500 to mass 750 GeV.

    A domain is the rows that carry its mass: the resonance of that mass, and the background rows
    that the files give the same mass label at random. Source and target rows are drawn from
    ``all_train.csv.gz``, test rows from ``all_test.csv.gz``. Labels are 1 for the resonance and 0
    for background. Features are taken as the files have them: already normalised.

    The first task needs the raw files on this computer and prepares them, which takes minutes;
    later ones load what was prepared. Nothing is ever downloaded here.

    Parameters
    ----------
    n_source, n_target, n_test : int, default=1000, 500, 2000
        Rows (paper: the same).
    draw : int, default=0
        Number of the data draw; another number gives other rows.
    path : str or Path, optional
        A folder of prepared data; by default the one in the project's cache.
    """

    name = "hepmass"

    def __init__(
        self,
        n_source: int = 1000,
        n_target: int = 500,
        n_test: int = 2000,
        draw: int = 0,
        path: str | Path | None = None,
    ) -> None:
        self.n_source = n_source
        self.n_target = n_target
        self.n_test = n_test
        self.draw = draw
        self.path = path

    @staticmethod
    def available() -> bool:
        """Tell whether tasks can be drawn without a download; reads no data."""
        return hepmass_prepare.available()

    @property
    def task_names(self) -> tuple[str, ...]:
        """The twenty ordered pairs of masses, in the order of the paper's tables."""
        return TASK_NAMES

    def task(self, name: str) -> Task:
        """Draw one task.

        Parameters
        ----------
        name : str
            Source and target mass, ``500-750``.

        Returns
        -------
        task : Task
            Rows of shape (n, 27), float64; labels 0 and 1, int64.

        Raises
        ------
        ValueError
            No such task, or too few rows of a mass.
        experiments.datasets.raw.RawDataError
            The data is not there or damaged; the message says how to get it.
        """
        check_task_name(self.name, name)  # before minutes of preparation
        try:
            if self.path is None:
                preparation = hepmass_prepare.ensure_prepared()
                folder, manifest = preparation.folder, preparation.manifest
            else:
                folder = Path(self.path)
                manifest = read_manifest(folder)

            def training_rows(mass: int) -> Rows:
                return load_rows(folder, manifest, "train", mass)

            def test_rows(mass: int) -> Rows:
                return load_rows(folder, manifest, "test", mass)

            return draw_task(
                self.name,
                name,
                training_rows,
                test_rows,
                n_source=self.n_source,
                n_target=self.n_target,
                n_test=self.n_test,
                draw=self.draw,
            )
        except PreparedDataError as error:
            raise RawDataError(
                f"{error} Prepare the data again with: python scripts/fetch_data.py hepmass"
            ) from error
