# Image of the controller. config/manager/deployment.yaml refers to it as uniteddeployment:0.1.0.
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels uniteddeployment
USER 65532:65532
ENTRYPOINT ["ud"]
