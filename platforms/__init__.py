"""Publishing HITs elsewhere: outbox, syncing, review and ledger."""
