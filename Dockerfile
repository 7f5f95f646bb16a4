# docker build -t qse . && docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" qse denoise in.wav
FROM python:3.11-slim-bookworm
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends ffmpeg \
    && rm -rf /var/lib/apt/lists/*
COPY . /tmp/qse
RUN pip install --no-cache-dir -q /tmp/qse && rm -rf /tmp/qse
WORKDIR /data
ENTRYPOINT ["qse"]
