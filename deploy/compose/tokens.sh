#!/bin/sh
# Writes the tokens that the nodes accept to sluice.toml in the given folder, as hashes that only the nodes' user can read:
# SLUICE_TOKEN with all permissions, and METRICS_TOKEN, which Prometheus sends, for the metrics alone.
#
#     SLUICE_TOKEN=... METRICS_TOKEN=... sh tokens.sh FOLDER
set -eu

umask 077
hash_of() {
    printf %s "$1" | sha256sum | cut -d ' ' -f 1
}
cat >"$1/sluice.toml" <<TOML
[[tokens]]
name = "client"
sha256 = "$(hash_of "$SLUICE_TOKEN")"
permissions = ["limit", "read_override", "set_override", "delete_override", "read_metrics", "read_keys"]

[[tokens]]
name = "prometheus"
sha256 = "$(hash_of "$METRICS_TOKEN")"
permissions = ["read_metrics"]
TOML
chown 65532:65532 "$1/sluice.toml"
