"""What packages above may follow: signals about a collection, sent in the transaction of the change."""

from django.dispatch import Signal

# With `collection`: what results are made of, or a name in manifests.
collection_changed = Signal()
# With `collection`: a run has come or gone.
runs_changed = Signal()
# With `run`: exports may have what only it brought, or may no longer.
release_changed = Signal()
# With `collection`, `count` (of passages) and `report`: passages came with texts.
texts_stored = Signal()
