# Few verbs; everything else is the go command.
.PHONY: release build test race lint fake weave versions gnark bench tools kernels plugin-cuda

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULES = . circomwitness cluster cmd examples observe prover/internal/library # go.work has them together

build: ## the command and the CPU plugin into bin/
	umask 022 && CGO_ENABLED=0 go build -tags grpcnotrace -o bin/ ./cmd/msm/... ./cmd/msm-weave ./cmd/msm-backend-cpu # what others can write is refused

test: ## everything that needs no GPU
	go test work

race: ## the concurrent packages under the race detector (needs a C compiler)
	go test -race -short ./cluster/... ./engine/... ./msm/... ./plugin/... ./prover/...

lint: ## formatting, each module alone, vet on three systems, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt needed:"; gofmt -l .; exit 1; }
	for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy -diff && GOWORK=off CGO_ENABLED=0 go build ./...) || exit 1; done
	go vet work
	GOOS=darwin CGO_ENABLED=0 go vet work
	GOOS=windows CGO_ENABLED=0 go vet work
	go run $(STATICCHECK) work

fake: ## the CUDA driver layer on a fake driver (needs a C compiler; fetches cuda.h)
	scripts/test-cuda-fake
	scripts/test-plugin-fake

weave: ## programs woven with the oldest, go-ethereum's and the newest gnark-crypto, provers with the oldest and the newest gnark (Linux)
	go run ./scripts/long weave -short -v -run '^(TestVersionsOfGnarkCrypto|TestProvers|TestMSMsAlone|TestSNARKs)$$'

versions: ## the provers' tests with the oldest gnark that they take, v0.14 and the newest
	go run ./scripts/versions short

gnark: ## gnark's own tests through the CPU plugin: the prover woven, all test circuits with a changed import, and with accelerators (Linux)
	scripts/test-gnark woven plugin:cpu ./backend/groth16/... ./backend/plonk/...
	scripts/test-gnark imported plugin:cpu -tags=prover_checks -run TestIntegrationAPI .
	scripts/test-gnark accelerated plugin:cpu -short -v

tools: ## nvcc and cuda.h into .cache/cuda, from Python wheels
	scripts/install-nvcc

kernels: tools ## compiled kernels; after a change below kernels/, or for another GPU: make kernels ARCH=120
	scripts/build-kernels $(if $(ARCH),-arch $(ARCH))

plugin-cuda: ## bin/msm-backend-cuda (needs a C compiler; fetches cuda.h when there is no toolkit)
	scripts/build-plugin-cuda bin

bench: build ## in process against the plugin, alternating
	bin/msm bench --size 2^16,2^18,2^20 --curve bn254 --backend cpu,plugin:cpu --check

release: ## archives, packages and checksums of the commit into dist/ (docs/howto/release.md)
	scripts/release
