# bonwise serve in a container; see docs/serve.md. It listens on all addresses, so serve.toml needs [keys].
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY prompts prompts
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[serve]" \
    && rm -r /wheels \
    && useradd --create-home bonwise \
    && install --directory --owner=bonwise /var/lib/bonwise
USER bonwise
VOLUME /var/lib/bonwise
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
ENTRYPOINT ["bonwise", "serve"]
CMD ["--config", "/etc/bonwise/serve.toml", "--host", "0.0.0.0", "--port", "8000", "--run", "/var/lib/bonwise/run"]
