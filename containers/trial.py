"""Tries the whole compose file with a real engine: `make containers`.

It builds both images, starts everything, submits a report, kills the recorder and the node, starts them
again, submits once more, looks for secrets where they must not be, and takes all down. It uses secrets,
volumes and a project of its own. Podman is tried; `--compose "docker compose" --engine docker` was never run.

Variables for machines with special needs: CONTAINERS_BUILD_ARGS (more words for `podman build`) and
CONTAINERS_TOOLCHAIN_ARGS (more words for the run that builds the toolchain).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAND_INS = ROOT / "containers" / "stand-ins"
# Debian's Python in the stand-in; the version that the Dockerfile names can't be had without a registry.
STAND_IN_PYTHON = "3.11.2"
# Everything that a URL, a shell or YAML could trip over.
HARD = "p@s/s:w#o%r%20d ?&'\"\\$x=[1]"
SERVERS = ("postgres", "broker")
OTHERS = ("web", "recorder", "beat", "node-cpu")
WAIT_SECONDS = 240
REPORT = """\
It raises an error:

```python
raise RuntimeError("boom")
```

```
RuntimeError: boom
```
"""


class TrialError(Exception):
    """Something did not happen as it must."""


class Trial:
    """One run of the compose file, in a project of its own."""

    def __init__(self, engine: str, compose: str, folder: Path) -> None:
        self._engine = engine
        self._project = f"trial{os.getpid()}"
        self._compose = [*shlex.split(compose), "-f", str(ROOT / "docker-compose.yml"), "-p", self._project]
        self._secrets = folder / "secrets"
        self._environment = {**os.environ, "SECRETS": str(self._secrets), "WEB_PORT": str(free_port())}

    def write_secrets(self) -> None:
        """Open files in a closed folder, as the compose file says."""
        self._secrets.mkdir(mode=0o700)
        for name in ("postgres_password", "broker_password"):
            self.write_secret(name, f"{name[0]}{HARD}")

    def write_secret(self, name: str, secret: str) -> None:
        path = self._secrets / name
        path.write_text(f"{secret}\n")
        path.chmod(0o444)

    def run(self, argv: Sequence[str], *, check: bool = True, stdin: str | None = None) -> str:
        """Standard output of a command. Raises TrialError if it fails."""
        done = subprocess.run(
            argv, env=self._environment, cwd=ROOT, input=stdin, capture_output=True, text=True, check=False
        )
        if check and done.returncode != 0:
            shown = shlex.join(argv)[:300]
            raise TrialError(f"{shown} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def compose(self, *words: str, check: bool = True) -> str:
        return self.run([*self._compose, *words], check=check)

    def container(self, service: str) -> str:
        """The id of a service's container."""
        argv = [self._engine, "ps", "-aq", "--filter", f"label=com.docker.compose.project={self._project}"]
        argv += ["--filter", f"label=com.docker.compose.service={service}"]
        ids = self.run(argv).split()
        if len(ids) != 1:
            raise TrialError(f"{service} has {len(ids)} containers")
        return ids[0]

    def execute(self, service: str, *words: str, stdin: str | None = None) -> str:
        return self.run([self._engine, "exec", "-i", self.container(service), *words], stdin=stdin)

    def is_healthy(self, service: str) -> bool:
        """Run the container's own health check now: podman without systemd never runs it by itself."""
        if self._engine != "podman":
            format_ = "{{.State.Health.Status}}"
            state = self.run([self._engine, "inspect", "-f", format_, self.container(service)])
            return state.strip() == "healthy"
        argv = [self._engine, "healthcheck", "run", self.container(service)]
        return subprocess.run(argv, capture_output=True, env=self._environment, check=False).returncode == 0

    def await_health(self, services: Sequence[str]) -> None:
        end = time.monotonic() + WAIT_SECONDS
        for service in services:
            while not self.is_healthy(service):
                if time.monotonic() > end:
                    log = self.run(
                        [self._engine, "logs", "--tail", "30", self.container(service)], check=False
                    )
                    raise TrialError(f"{service} did not get healthy:\n{log}")
                time.sleep(0.5)
            say(f"healthy: {service}")

    def submit(self, token: str) -> str:
        """Run the report on the service from inside its network. The verdict."""
        out = self.run(
            [
                *(self._engine, "exec", "-i", "-e", f"SAMEHERE_TOKEN={token}", self.container("web")),
                *(
                    "samehere",
                    "reproduce",
                    "-",
                    "--as",
                    "report",
                    "--server",
                    "http://127.0.0.1:8000",
                    "--json",
                ),
            ],
            stdin=REPORT,
        )
        answer = json.loads(out)
        return f"{answer['verdict']}: {answer['summary']}"

    def back_up(self) -> str:
        """Dump the database, and restore it into a second one. The last word of both."""
        dumped = self.execute("web", "samehere", "dump", "/tmp/trial.dump")  # noqa: S108  # a tmpfs of its own
        self.execute("postgres", "createdb", "-U", "samehere", "second")
        url = "SAMEHERE_DATABASE_URL=postgresql://samehere@postgres/second"
        restored = self.execute("web", "env", url, "samehere", "restore", "/tmp/trial.dump")  # noqa: S108
        if dumped.split(" dumped ")[0] != restored.split(" restored ")[0]:
            raise TrialError(f"dumped: {dumped}restored: {restored}")
        return restored.strip()

    def places_of_secrets(self) -> Iterator[str]:
        """Where a password stands and must not: descriptions of containers, command lines, environments."""
        passwords = [path.read_text().strip() for path in self._secrets.iterdir()]
        for service in (*SERVERS, *OTHERS):
            container = self.container(service)
            described = self.run([self._engine, "inspect", container])
            # JSON writes some characters of the password in its own way.
            if any(word in described or json.dumps(word)[1:-1] in described for word in passwords):
                yield f"inspect {service}"
            for pid in self.run([self._engine, "top", container, "hpid"]).split()[1:]:
                for name in ("cmdline", "environ"):
                    try:
                        text = Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
                    except OSError:
                        continue
                    if any(word in text for word in passwords):
                        yield f"{name} of {service}"

    def take_down(self) -> None:
        self.compose("--profile", "setup", "down", "-v", check=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def build_stand_ins(trial: Trial, words: Sequence[str]) -> None:
    """Images of Debian 12 under the names of the compose file."""
    if not trial.run(["podman", "images", "-q", "localhost/samehere-debian"]).strip():
        with tempfile.TemporaryDirectory() as folder:
            trial.run(["debootstrap", "--variant=minbase", "bookworm", folder])
            archive = f"tar -C {shlex.quote(folder)} -c . | podman import - localhost/samehere-debian"
            trial.run(["sh", "-c", archive])
    text = (ROOT / "docker-compose.yml").read_text()
    images = {line.split()[1] for line in text.splitlines() if line.strip().startswith("image: docker.io/")}
    names = {
        "python": f"docker.io/library/python:{STAND_IN_PYTHON}-slim-bookworm",
        "postgres": next(name for name in images if "/postgres:" in name),
        "broker": next(name for name in images if "/valkey:" in name),
    }
    for stage, name in names.items():
        argv = ["podman", "build", "--pull=never", *words, "--target", stage, "-t", name]
        trial.run([*argv, "-f", str(STAND_INS / "Dockerfile"), str(STAND_INS)])
        say(f"stand-in: {name}")


def build_images(trial: Trial, engine: str, words: Sequence[str]) -> None:
    for target in ("web", "node"):
        trial.run([engine, "build", *words, "--target", target, "-t", f"samehere-{target}", "."])
        say(f"built: samehere-{target}")


def check_life(trial: Trial, engine: str) -> None:
    """From an empty project to the second verdict."""
    trial.compose("up", "-d", *SERVERS)
    trial.await_health(SERVERS)
    trial.compose("run", "--rm", "--no-deps", "migrate")
    token = trial.compose(
        *("run", "--rm", "--no-deps", "web", "samehere", "token", "create"),
        *("--name", "trial", "--scope", "submit", "--scope", "read"),
    ).split()[-1]
    key = trial.compose("run", "--rm", "--no-deps", "-T", "web", "samehere", "node-key", "create", "cpu-1")
    trial.write_secret("cpu-1", key.split()[-1])
    say("migrated; a token and a node key are made")
    more = shlex.split(os.environ.get("CONTAINERS_TOOLCHAIN_ARGS", ""))
    trial.compose("--profile", "setup", "run", "--rm", *more, "toolchain")
    say("toolchain: built")
    # Podman 4.3 can wait for no condition, so nothing here is started by another.
    trial.compose("up", "-d", "--no-deps", *OTHERS)
    trial.await_health(OTHERS)
    level = trial.execute("node-cpu", "python", "-P", "-m", "worker", "doctor").splitlines()[0]
    say(f"node: {level}")
    say(f"first report: {expect_reproduced(trial.submit(token))}")
    for service in ("recorder", "node-cpu"):
        trial.run([engine, "kill", trial.container(service)])
        if trial.is_healthy(service):
            raise TrialError(f"{service} is dead, and its health check passes")
        trial.run([engine, "start", trial.container(service)])
        say(f"killed and started again: {service}")
    trial.await_health(("recorder", "node-cpu"))
    say(f"second report: {expect_reproduced(trial.submit(token))}")
    trial.run([engine, "restart", trial.container("broker")])
    trial.await_health(SERVERS)
    say(f"third report, after a restart of the broker: {expect_reproduced(trial.submit(token))}")
    say(f"backup: {trial.back_up()}")
    places = sorted(set(trial.places_of_secrets()))
    if places:
        raise TrialError(f"passwords stand in: {', '.join(places)}")
    say("no password in descriptions, command lines and environments")


def expect_reproduced(verdict: str) -> str:
    if not verdict.startswith("reproduced"):
        raise TrialError(f"the verdict is {verdict}")
    return verdict


def main() -> int:
    parser = argparse.ArgumentParser(prog="make containers ARGS=…", description=__doc__)
    parser.add_argument("--engine", default="podman")
    parser.add_argument("--compose", default=f"{Path(sys.executable).parent / 'podman-compose'}")
    parser.add_argument("--stand-ins", action="store_true", help="build stand-ins for images of registries")
    parser.add_argument("--built", action="store_true", help="the images are built already")
    parser.add_argument("--keep", action="store_true", help="leave everything running")
    chosen = parser.parse_args()
    if shutil.which(chosen.engine) is None:
        print(f"{chosen.engine} is not installed: apt-get install podman buildah runc", file=sys.stderr)
        return 2
    words = shlex.split(os.environ.get("CONTAINERS_BUILD_ARGS", ""))
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(chosen.engine, chosen.compose, Path(folder))
        trial.write_secrets()
        try:
            if chosen.stand_ins and not chosen.built:
                build_stand_ins(trial, words)
                words += ["--pull=never", "--build-arg", f"PYTHON={STAND_IN_PYTHON}"]
            if not chosen.built:
                build_images(trial, chosen.engine, words)
            check_life(trial, chosen.engine)
        except TrialError as error:
            say(f"FAILED: {error}")
            return 1
        finally:
            if not chosen.keep:
                trial.take_down()
                say("taken down")
    return 0


if __name__ == "__main__":
    sys.exit(main())
