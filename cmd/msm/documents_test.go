package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
)

var (
	commandBlock = regexp.MustCompile("(?ms)^ *```\n(.*?)^ *```")
	// A line of a block that calls the command, however it is installed.
	commandLine = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:bin/|go run \./cmd/|sudo )?msm (.*)$`)
)

// TestDocumentedCommands: the commands that documents tell to type exist, with the flags
// that they are given.
func TestDocumentedCommands(t *testing.T) {
	documents, err := filepath.Glob("../../docs/howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range append(documents, "../../README.md", "../../docs/command.md", "../../docs/bench-protocol.md", "../../docs/seeds.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range documentedCommands(string(text)) {
			checked++
			if why := refused(t, args); why != "" {
				t.Errorf("%s: msm %s: %s", path, strings.Join(args, " "), why)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands", checked)
	}
	for _, wrong := range []string{"msm bench --sise 2^16", "msm bunch"} {
		if refused(t, documentedCommands("```\n" + wrong + "\n```\n")[0]) == "" {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// refused returns why a command line is none, or "".
func refused(t *testing.T, args []string) string {
	t.Helper()
	status, out, errs := msm(t, &cli.App{}, append(slices.Clone(args), "--help")...)
	switch {
	case status != cli.ExitOK:
		return errs
	case len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.Contains(out, "msm "+args[0]):
		return "no such command"
	}
	return ""
}

// documentedCommands returns the arguments of the calls of msm in a document's blocks,
// without what the shell makes of a line: variables, redirections, comments, more lines.
func documentedCommands(text string) (all [][]string) {
	for _, block := range commandBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			m := commandLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil || strings.HasPrefix(m[1], "COMMAND") {
				continue
			}
			call, _, _ := strings.Cut(m[1], " #")
			call, _, _ = strings.Cut(call, "   ") // what the command does, in a list of them
			var args []string
			for _, arg := range strings.Fields(call) {
				if arg == "|" || arg == ">" || arg == "&&" || arg == "&" {
					break
				}
				args = append(args, strings.Trim(strings.ReplaceAll(arg, "$curve", "bn254"), `'"`))
			}
			all = append(all, args)
		}
	}
	return all
}
