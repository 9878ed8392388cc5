package main

// A test is a call of go test.
type test struct {
	name  string
	takes string
	what  string

	in        string // the packages
	tests     string // as -run takes them
	timeout   string
	build     string   // flags of go test
	flags     string   // flags of the test, and what else comes after the package
	record    string   // the test's flag for a file of what it measured
	commit    string   // the test's flag for the commit, for the record
	env       []string // variables that it needs
	first     []string // a command that has to run before
	cuda      bool     // it needs a GPU, and what scripts/cuda-env needs
	fake      bool     // it needs what scripts/test-cuda-fake needs
	keepsLogs bool     // its logs are kept when it fails
}

var tests = []test{
	{
		name: "attack", takes: "5 min or more",
		what: "attacks a daemon with 600 MiB as another user: 10^6 requests of nonsense by gRPC and by lanes each; needs root;" +
			" -attack 10m attacks for longer",
		in: "./plugin/internal/attack", tests: "^TestAttacks$", timeout: "3h", build: "-v",
		flags: "-attack 60s -requests 1000000 -p99 50ms", record: "-record",
	},
	{
		name: "bench-cluster", takes: "10 min",
		what: "measures what a job costs, and the throughput of up to 200 workers beside as many provers alone",
		in:   "./cluster", tests: "^(TestOverhead|TestThroughput|TestRealThroughput)$", timeout: "30m",
		flags: "-long", record: "-record",
	},
	{
		name: "bench-numbers-cuda", takes: "5 min",
		what: "measures the kernels over numbers on a card; -run '^TestNumberTimes$/^engines$' has each engine beside the others," +
			" -numbers 24 smaller operands",
		in: "./kernels/grid", tests: "^TestNumberTimes$", timeout: "30m", build: "-v -tags cuda,measured",
		flags: "-numbers 26", record: "-record", env: []string{"PIPPIN_GPU=1"}, cuda: true,
	},
	{
		name: "circom-damage", takes: "20 min",
		what: "reads 10^6 keys and witnesses of circom, 10^6 files of JSON, and 10^6 inputs of a circuit with random damage: no panic," +
			" and no more memory than the file says",
		in: "./prover/circom/internal/file ./prover/circom ./circomwitness", tests: "^TestRandomDamage$", timeout: "2h", build: "-v",
		flags: "-inputs 1000000",
	},
	{
		name: "circom-storm", takes: "2 min",
		what: "makes 64 proofs of circom's circuits at a time while the plugin is killed and swapped 40 times; -backend plugin:cuda" +
			" -plugins FOLDER has another plugin",
		in: ".", tests: "^TestCircomStorm$", timeout: "20m", build: "-v",
		flags: "-circomrounds 10",
	},
	{
		name: "cluster-storm", takes: "1 h",
		what: "kills, stops and moves three servers and four workers at random, beside a hostile client, for half an hour or as" +
			" -storm 5m says; then kills workers and the server in the middle of jobs. Each job must have its one right answer in" +
			" its turn, and each delivery that is repeated a reason",
		in: "./cluster", timeout: "3h",
		tests: "^(TestStorm|TestKilledWorkers|TestServerRestarts|TestCostOfAKill|TestClientShares|TestThreeServers)$",
		build: "-parallel 1", flags: "-long -storm 30m", record: "-record", keepsLogs: true,
	},
	{
		name: "constant-time", takes: "10 min",
		what: "runs the kernels that take secrets under valgrind: no branch and no address may depend on one, and planted leaks" +
			" must be found",
		in: "./kernels", tests: "^TestConstantTime$", timeout: "60m", build: "-v",
		flags: "-constant-time", record: "-record",
	},
	{
		name: "documents", takes: "5 min",
		what: "types what the README and the how-tos tell to type, as far as a machine without a card can, and compares what is printed",
		in:   "./internal/archtest", tests: "^TestDocumentsCommands$", timeout: "20m", build: "-v",
		flags: "-documents", first: []string{"make", "--silent", "build"},
	},
	{
		name: "fault-signatures", takes: "5 min",
		what: "injects 10,000 faults into the steps of batches of RSA signatures of 2048 bits: no wrong one may leave",
		in:   "./arith", tests: "^TestFaultsOfSignatures$", timeout: "60m", build: "-v",
		flags: "-faults 10000 -fault-bits 2048", record: "-fault-record",
	},
	{
		name: "fuzz-solver", takes: "1 h",
		what: "solves random circuits over four curves by pippin's solver and gnark's, for as long as -random-for 10m says",
		in:   "./prover/internal/assignment", tests: "^TestRandomCircuits$", timeout: "0", build: "-v",
		flags: "-random-for 1h", record: "-random-record", commit: "-random-commit",
	},
	{
		name: "probe", takes: "2 min",
		what: "tests every device function of kernels/thread on the host with sanitizers; -run '^(TestProbe|TestMutants)$' has every" +
			" fault that the models must see, 5 min",
		in: "./kernels/internal/probe", tests: "^TestProbe$", timeout: "30m",
		flags: "-probe.full -probe.count 200", env: []string{"PIPPIN_REQUIRE_CXX=1"},
	},
	{
		name: "refusing-card", takes: "3 min",
		what: "has a card of the fake driver refuse at random, and neighbours take its memory: each call is right, and the card answers" +
			" within 5 s of the end; -refusing 20m refuses for longer",
		in: "./backend/cuda", tests: "^TestRefusingCard$", timeout: "2h", build: "-v",
		flags: "-refusing 3m", record: "-refusing-record", commit: "-refusing-commit", fake: true,
	},
	{
		name: "soak", takes: "2 min",
		what: "runs 10,000 batches of numbers through a plugin, such as -backend plugin:cuda -plugins FOLDER; the memory of both" +
			" processes must stay as it is",
		in: ".", tests: "^TestNumbersLeaveNothing$", timeout: "20m", build: "-v",
		flags: "-batches 10000", record: "-soak",
	},
	{
		name: "solve-library", takes: "1 h",
		what: "solves circuits of gnark's library on four curves by pippin's solver and gnark's, each in a separate process that must" +
			" not die: right witnesses and spoiled ones; goes on where its record ends; -matrix-cases ECDSA only those whose names" +
			" begin so, -matrix-limit 5m ends each after that",
		in: "./prover/internal/library", tests: "^TestLibrary$", timeout: "12h", build: "-v",
		flags: "-matrix", record: "-matrix-record", commit: "-matrix-commit",
	},
	{
		name: "storm", takes: "1 min",
		what: "swaps, kills and stops the plugin of an engine with 64 callers; -storm 10s is shorter, -backend plugin:cuda" +
			" -plugins FOLDER has another plugin",
		in: ".", tests: "^TestStorm$", timeout: "20m", build: "-v",
		flags: "-storm 60s",
	},
	{
		name: "verify-times", takes: "1 min",
		what: "measures what it costs to verify a proof with one public value, as WithVerify does",
		in:   "./internal/proofsystem", tests: "^TestVerifyTimes$", timeout: "10m", build: "-v",
		flags: "-verify-runs 200", record: "-verify-record", commit: "-verify-commit",
	},
	{
		name: "weave", takes: "20 min",
		what: "weaves programs with every version of gnark-crypto that msm weave is for, with -short some; needs the module proxy",
		in:   "./cmd/internal/weave", tests: ".", timeout: "90m", build: "-tags=woven -vet=all",
	},
}
