#!/bin/sh
# Generates plugin.pb.go and plugin_grpc.pb.go from plugin.proto with pinned
# tools, fetched into a temporary folder. Needs Go, python3 with venv and pip.
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN="$tools" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN="$tools" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" -q install grpcio-tools==1.85.1
PATH="$tools:$PATH" "$tools/venv/bin/python" -m grpc_tools.protoc -I. \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto
