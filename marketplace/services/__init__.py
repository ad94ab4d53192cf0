"""Everything that writes. Services raise marketplace.errors.Refused, and take the time from marketplace.clock."""
