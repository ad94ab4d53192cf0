"""Bills, accounts and what is owed and paid."""
