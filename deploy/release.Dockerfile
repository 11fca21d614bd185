# The image of a release: binaries that were built before, and CA certificates. goreleaser copies the binaries into the context.

ARG CERTIFICATES_IMAGE=golang:1.26
FROM ${CERTIFICATES_IMAGE} AS certificates
RUN mkdir -p /skeleton/models /skeleton/tmp

FROM scratch
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY goestimator entrypoint /usr/local/bin/
COPY LICENSE build/release/THIRD_PARTY_NOTICES /licenses/
COPY --from=certificates --chown=65532:65532 /skeleton/ /
ENV PATH=/usr/local/bin HOME=/tmp
USER 65532:65532
EXPOSE 2222 8500 8501
ENTRYPOINT ["/usr/local/bin/entrypoint"]
CMD ["help"]
