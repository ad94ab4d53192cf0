"""Who did what to which row, when, from where and why: recorded by triggers of the database (core/migrations).

- tables.py: which tables are recorded, and how each is spoken of
- origin.py: who is acting in this process, as the triggers are told
- selectors.py, words.py: what the pages show
- services.py: entries about what changes no row, and the removal of old ones
"""
