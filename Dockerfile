# Two images from one file: `web` (web, recorder, beat: everything trusted) and `node` (runs strangers' code).
#
#   docker build --target web  -t samehere-web  .
#   docker build --target node -t samehere-node .
#
# The node's sandbox makes namespaces of its own. A stock container forbids that; start it with
#
#   --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt apparmor=unconfined --init
#
# and no extra capability. Tighter than `seccomp=unconfined`: Docker's default profile with clone, unshare, setns,
# mount, umount2 and pivot_root allowed unconditionally. `samehere doctor` inside the container says what is
# missing. See docs/security.md.

# The whole version, so that two builds of one commit start from one Python. Raise it for a newer patch release.
ARG PYTHON=3.12.12

FROM python:${PYTHON}-slim-bookworm AS base
# Python looks for no module in the current folder.
ENV PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SAMEHERE_HOME=/var/lib/samehere
# samehere needs no name for its uid, but some libraries do. This user owns the state and nothing else.
RUN useradd --uid 47000 --user-group --home-dir /var/lib/samehere --shell /usr/sbin/nologin samehere \
 && install -d -o samehere -g samehere -m 0755 /var/lib/samehere
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE samehere.py ./
COPY app app
COPY worker worker
COPY migrations migrations
COPY samehere_client samehere_client

FROM base AS web
# `embedded` for pg_dump, pg_restore and psql: `samehere dump` and `samehere restore` use them.
RUN pip install --constraint constraints.txt '.[service,embedded,mcp,github]' && rm -rf /src
WORKDIR /
USER samehere
EXPOSE 8000
# Ready means that the web answers and reaches the database and the broker.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s CMD ["python", "-P", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ.get('SAMEHERE_PORT', '8000')}/readyz\", timeout=8)"]
CMD ["python", "-P", "-m", "app.serve.web"]

FROM base AS node
RUN pip install --constraint constraints.txt '.[node]' && rm -rf /src
WORKDIR /
USER samehere
VOLUME /var/lib/samehere
# The broker has a fresh heartbeat of this node.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s CMD ["python", "-P", "-m", "worker", "health"]
CMD ["python", "-P", "-m", "worker", "node"]
