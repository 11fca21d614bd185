# goestimator in a container.
#
#   docker build -t goestimator .                          one static binary and CA certificates, nothing else
#   docker build -t goestimator:gpu --target gpu .         with the C library and CUDA's, for GPUs
#   docker run -v "$PWD/exports:/models:ro" -p 8500:8500 -p 8501:8501 goestimator serve --model-root /models
#
# The entrypoint has serve listen at all addresses (--host 0.0.0.0). Without a token (--token-file) reloading and
# reflection stay refused. All runs as a user without rights; /models is its folder.

ARG GO_IMAGE=golang:1.26
ARG GPU_IMAGE=nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04

FROM ${GO_IMAGE} AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Folders of the user's: a new volume at /models is owned as the folder is.
RUN mkdir -p /out /skeleton/models /skeleton/tmp

FROM source AS static
RUN CGO_ENABLED=0 go build -tags static -ldflags=-s -o /out/goestimator ./cmd/goestimator
RUN CGO_ENABLED=0 go build -tags static -ldflags=-s -o /out/entrypoint ./cmd/entrypoint

# The binary of the GPU image finds CUDA's libraries by the C library's loader, still without cgo.
FROM source AS dynamic
RUN CGO_ENABLED=0 go build -ldflags=-s -o /out/goestimator ./cmd/goestimator
RUN CGO_ENABLED=0 go build -tags static -ldflags=-s -o /out/entrypoint ./cmd/entrypoint

FROM ${GPU_IMAGE} AS gpu
COPY --from=dynamic /out/ /usr/local/bin/
COPY --from=dynamic --chown=65532:65532 /skeleton/models /models
ENV HOME=/tmp NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 65532:65532
EXPOSE 2222 8500 8501
ENTRYPOINT ["/usr/local/bin/entrypoint"]
CMD ["help"]

FROM scratch
COPY --from=static /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=static /out/ /usr/local/bin/
COPY --from=static --chown=65532:65532 /skeleton/ /
ENV PATH=/usr/local/bin HOME=/tmp
USER 65532:65532
EXPOSE 2222 8500 8501
ENTRYPOINT ["/usr/local/bin/entrypoint"]
CMD ["help"]
