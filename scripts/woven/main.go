// Command woven runs the tests of real programs, woven with "msm weave", and keeps the record
// of what was woven, cmd/internal/weave/record.jsonl.
//
//	go run ./scripts/woven test [PROGRAM [GO-TEST-ARGUMENTS]]    every program without arguments
//	go run ./scripts/woven times GNARK                           one proof stock, woven and imported, in turns
//	go run ./scripts/woven real [PROGRAM ...]                    real programs stock, woven and imported
//	go run ./scripts/woven turns PROGRAM                         proofs of one of them stock, woven and imported, in turns
//	go run ./scripts/woven record                                runs all, and writes the record
//	go run ./scripts/woven check                                 fails where the record is of other sources
//
// PROGRAM is MODULE@VERSION, or a folder with a module's sources: a checkout at some commit. Its files and modules are as
// they are. Every MSM, and every proof with gnark v0.11 and later, however small, is answered by the backend, and a test
// fails where one is not. PIPPIN_BACKEND is the backend, plugin:cpu
// without it; with PIPPIN_WEAVE_RECORD a line of JSON is added to that file for each program.
// It needs the module proxy.
//
// record has programs with every version of gnark-crypto and of gnark that "msm weave" is for, and the real
// programs: an hour on two processors. A release wants a record of its own sources.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "woven: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say test, times, real, turns, record or check")
	}
	root, err := tree.Root()
	if err != nil {
		return err
	}
	switch {
	case args[0] == "test" && len(args) > 1:
		return program{args[1], args[2:]}.test(root)
	case args[0] == "test":
		return testAll(root)
	case args[0] == "times" && len(args) == 2:
		return times(root, args[1], cmp.Or(os.Getenv("PIPPIN_BACKEND"), "plugin:cpu"))
	case args[0] == "real":
		return realAll(root, cmp.Or(os.Getenv("PIPPIN_BACKEND"), "plugin:cpu"), args[1:])
	case args[0] == "turns" && len(args) == 2:
		return turns(root, args[1], cmp.Or(os.Getenv("PIPPIN_BACKEND"), "plugin:cpu"))
	case args[0] == "record" && len(args) == 1:
		return record(root)
	case args[0] == "check" && len(args) == 1:
		return check(root)
	}
	return fmt.Errorf("%q is neither test, times, real, turns, record nor check", args)
}
