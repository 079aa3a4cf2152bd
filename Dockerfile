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

ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SAMEHERE_HOME=/var/lib/samehere
# samehere needs no name for its uid, but some libraries do. This user owns the state and nothing else.
RUN useradd --uid 47000 --user-group --home-dir /var/lib/samehere --shell /usr/sbin/nologin samehere \
 && install -d -o samehere -g samehere -m 0755 /var/lib/samehere
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY worker worker
COPY migrations migrations

FROM base AS web
RUN pip install '.[service]' && rm -rf /src
WORKDIR /var/lib/samehere
USER samehere
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "-m", "app.serve.web"]

FROM base AS node
RUN pip install '.[node]' && rm -rf /src
WORKDIR /var/lib/samehere
USER samehere
VOLUME /var/lib/samehere
CMD ["python", "-m", "worker", "node"]
