module github.com/pippin-zk/pippin/circomwitness

go 1.26.0

require (
	github.com/pippin-zk/pippin v0.0.0
	github.com/tetratelabs/wazero v1.12.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/pippin-zk/pippin => ../
