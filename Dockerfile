# hf-corefel serve in a container: docker build --tag hf-corefel . && docker run --publish 8000:8000 hf-corefel
#
# Building asks a package index for packages and nobody for anything else; the checkpoint comes with the package. Another
# index, or one beside it (that of PyTorch has builds for CPUs alone, a tenth as large), is named by arguments:
#   docker build --build-arg PIP_INDEX_URL=https://… --build-arg PIP_EXTRA_INDEX_URL=https://… .
ARG PYTHON=python:3.11-slim

FROM ${PYTHON} AS build
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
RUN python -m venv /opt/hf-corefel
# The packages first: they change less often than the source.
COPY constraints.txt ./
RUN /opt/hf-corefel/bin/python -m pip install --constraint constraints.txt "$(grep '^torch==' constraints.txt)"
COPY setup.cfg pyproject.toml MANIFEST.in README.md LICENSE NOTICE ./
COPY src ./src
RUN /opt/hf-corefel/bin/python -m pip install --constraint constraints.txt ".[serve]"

FROM ${PYTHON}
# The service asks the Hub for nothing; to serve a model from there: docker run --env HF_HUB_OFFLINE=0 … --model ORG/NAME
ENV HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1 HF_HOME=/tmp/huggingface
COPY --from=build /opt/hf-corefel /opt/hf-corefel
RUN useradd --no-create-home --shell /usr/sbin/nologin service
USER service
EXPOSE 8000
# Loading takes seconds, of which no failure is counted.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s CMD ["/opt/hf-corefel/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# Answers what it has accepted before it ends, for which `docker stop --time 70` gives it time.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/hf-corefel/bin/hf-corefel", "serve", "--host", "0.0.0.0", "--port", "8000"]
