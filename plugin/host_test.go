//go:build linux

package plugin

const hostEnv = "PIPPIN_TEST_HOST"

func hostMain() {}
