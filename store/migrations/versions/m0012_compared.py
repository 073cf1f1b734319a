"""Use: told is not compared. What a memory is worth is judged by the answers that were held against it, and by no others.

heart.memory_usage   `compared` counts those answers, and `compared_lately` fades beside `referenced_lately`, both as they were at
                     `compared_at`; sums of what was only told are gone, and those of what was drawn on begin anew beside the others
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        "ALTER TABLE heart.memory_usage DROP COLUMN injected_lately, DROP COLUMN referenced_lately, DROP COLUMN counted_at,"
        " ADD COLUMN compared integer NOT NULL DEFAULT 0, ADD COLUMN compared_lately double precision NOT NULL DEFAULT 0,"
        " ADD COLUMN referenced_lately double precision NOT NULL DEFAULT 0, ADD COLUMN compared_at timestamptz"
    )


def downgrade() -> None:
    """Undo."""
    op.execute(
        "ALTER TABLE heart.memory_usage DROP COLUMN compared, DROP COLUMN compared_lately, DROP COLUMN referenced_lately,"
        " DROP COLUMN compared_at, ADD COLUMN injected_lately double precision NOT NULL DEFAULT 0,"
        " ADD COLUMN referenced_lately double precision NOT NULL DEFAULT 0, ADD COLUMN counted_at timestamptz NOT NULL DEFAULT now()"
    )
    op.execute("ALTER TABLE heart.memory_usage ALTER COLUMN counted_at DROP DEFAULT")
