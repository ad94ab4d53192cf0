"""Other people's clients of Mechanical Turk, which run against the marketplace as they are.

`python -m tests.clients.fetch` gets them before the tests run. None of their code is in this repository.
"""
