"""Makes the marketplace's role and database on the server of DATABASE_URL, and keeps its role out of all others.

Safe to run again: then the role has the password that MARKETPLACE_POSTGRES_PASSWORD says now. With
MARKETPLACE_DATABASE_URL set there is nothing to make: the database is somebody else's.
"""

import os
import sys

import psycopg2
from psycopg2 import sql

NAME = sql.Identifier("marketplace")
LEAST = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"


def main() -> None:
    """Make what is missing."""
    if os.environ.get("MARKETPLACE_DATABASE_URL"):
        return
    if not os.environ.get("MARKETPLACE_POSTGRES_PASSWORD"):
        sys.exit("Set MARKETPLACE_POSTGRES_PASSWORD in .env - see docker/env.example")
    connection = psycopg2.connect(os.environ["DATABASE_URL"].replace("postgres://", "postgresql://", 1))
    connection.autocommit = True  # databases are not made in transactions
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = 'marketplace'")
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE ROLE {}").format(NAME))
        password = sql.Literal(os.environ["MARKETPLACE_POSTGRES_PASSWORD"])
        cursor.execute(sql.SQL("ALTER ROLE {} {} PASSWORD {}").format(NAME, sql.SQL(LEAST), password))
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = 'marketplace'")
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(NAME))
        cursor.execute("SELECT datname FROM pg_database")
        for (database,) in cursor.fetchall():  # by default, every role may connect to every database
            cursor.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(database)))
    connection.close()


if __name__ == "__main__":
    main()
