// Command versions runs the provers' own tests with the versions of gnark and gnark-crypto that
// programs have, each in place of those that go.mod asks for.
//
//	go run ./scripts/versions short          the oldest, v0.14 and the newest, on BN254: what CI runs
//	go run ./scripts/versions record         all of them on four curves, into bench/results/versions.jsonl
//	go run ./scripts/versions record -short  the same on BN254
//	go run ./scripts/versions files          only the files that versions read of each other, as a table
//	go run ./scripts/versions one GNARK GNARK-CRYPTO [GO-TEST-ARGUMENTS]
//	go run ./scripts/versions table          prints the row of docs/stability.md, and the tables of
//	                                         docs/howto/versions.md from the record
//
// With each version a program that imports the provers keeps it through go mod tidy, and
// compiles. The provers' tests are compiled, and compare with that version:
// proofs byte for byte, solutions and hints bit for bit, keys and their files. record also has every
// version read what every other wrote: keys, systems, witnesses and proofs.
//
// It needs the module proxy. record takes an hour or two on two processors, most of it compiling; one
// that was interrupted goes on at the same commit.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "versions: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say short, record, files, one or table")
	}
	root, err := tree.Root()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "versions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	switch {
	case args[0] == "short" && len(args) == 1:
		return short(root, work)
	case args[0] == "record" && len(args) == 1:
		return record(root, work)
	case args[0] == "record" && len(args) == 2 && args[1] == "-short":
		return record(root, work, args[1])
	case args[0] == "files" && len(args) == 1:
		lines, err := exchange(root, work)
		for _, l := range lines {
			if l.Error != "" {
				fmt.Printf("gnark %s of %s: %s: %s\n", l.Gnark, l.From, l.What, l.Error)
			}
		}
		fmt.Print(exchanged(lines))
		return err
	case args[0] == "one" && len(args) > 2:
		return one(root, work, pair{args[1], args[2]}, args[3:])
	case args[0] == "table" && len(args) == 1:
		fmt.Println(supported())
		text, err := tables(filepath.Join(root, file))
		fmt.Print(text)
		return err
	}
	return fmt.Errorf("%q is neither short, record, files, one nor table with what it takes", args)
}
