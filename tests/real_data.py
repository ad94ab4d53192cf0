"""The folder of real runs, qrels and preferences, which may not be passed on."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
DATA = Path(os.environ.get("BESTKNOWN_DATA", REPOSITORY.parent / "shared" / "data"))
