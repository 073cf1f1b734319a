"""Alembic's entry: runs the migrations on the connection that `store.migrate` hands over."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=None, version_table_schema="bus", transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
