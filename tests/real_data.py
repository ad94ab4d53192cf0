"""The folder of real runs, qrels and preferences, which may not be passed on; and the collections to try."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
DATA = Path(os.environ.get("BESTKNOWN_DATA", REPOSITORY.parent / "shared" / "data"))
# Folders of one layout: a made-up one everywhere, and the real one where it is.
COLLECTIONS = ["made-up", *(["trec-dl-2021"] if (DATA / "trec-dl-2021").is_dir() else [])]
