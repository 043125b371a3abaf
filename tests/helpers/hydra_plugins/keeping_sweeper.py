"""A sweeper of Hydra that keeps what it is given, for Hydra's own throws it away."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper, BasicSweeperConf
from hydra.core.config_store import ConfigStore


class KeepingSweeper(BasicSweeper):
    """Writes the values of all jobs into the file that ``$KEPT`` names."""

    def sweep(self, arguments):
        returns = super().sweep(arguments)
        values = [job.return_value for batch in returns for job in batch]
        Path(os.environ["KEPT"]).write_text(json.dumps(values))
        return returns


@dataclass
class KeepingSweeperConf(BasicSweeperConf):
    _target_: str = "hydra_plugins.keeping_sweeper.KeepingSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="keeping", node=KeepingSweeperConf)
