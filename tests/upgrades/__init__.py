"""Sites of earlier versions, with data: a file each, of which a test makes a site of this version."""

# The key that addresses of workers' pages are signed with: the upgraded site has it, too.
SECRET_KEY = "a key for upgraded sites, and for nothing else in the world"
PASSWORD = "correct horse battery"
# What a version's file holds, by name.
DATABASE, FILES, EXPORTS, LEDGERS, LINK = "database.sql", "files/", "exports/", "ledgers/", "link.txt"
