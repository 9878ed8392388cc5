package archtest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
)

var runDocuments = flag.Bool("documents", false, "run the commands of the README and the how-tos (minutes; scripts/long documents)")

// excused are the commands of documents that scripts/long documents does not run, and why.
var excused = []struct {
	command *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`cuda|^msm devices`), "it needs a card"},
	{regexp.MustCompile(`^msm top`), "it needs a prover at work; tests of cmd/msm have one"},
	{regexp.MustCompile(`^(docker|install -d|cp packaging|usermod|systemctl)`), "it needs docker or root"},
	{regexp.MustCompile(`^(msm circom serve|curl .*9080)`), "its tests run it"},
	{regexp.MustCompile(`^msm (serve|bench --size 2\^20 --backend daemon)|^msm cluster (up --listen|up --join|up .*--peer|work|prove)`),
		"it needs several machines or users; tests of cmd/msm run it"},
	{regexp.MustCompile(`^(make (release|build|test|lint)|scripts/|sha256sum|go version -m|msm doctor)`),
		"it is a check of its own, or one of a release"},
	{regexp.MustCompile(`^go get .*@latest`), "what it gets is another thing each month; scripts/versions has the versions"},
	{regexp.MustCompile(`^go (build|run) -toolexec`), "scripts/long weave runs it"},
	{regexp.MustCompile(`^go (run ./cmd/msm bench|test work)`), "CI runs it by itself"},
	{regexp.MustCompile(`^git clone`), "nothing is there before it is published"},
}

// A line of a block that is a command, and not what one prints.
var typed = regexp.MustCompile(`^(?:\$ )?((?:[A-Z]+=\S+ )*` +
	`(?:bin/msm|msm|git|go|make|scripts/\S+|docker|install|cp|usermod|systemctl|sha256sum|curl|cd) .*)$`)

// shellBlock is a block without a language.
var shellBlock = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")

// command is a command of a document with the lines that it prints there.
type command struct {
	text   string
	prints []string
}

// why returns why the command is not run, or "".
func (c command) why() string {
	for _, e := range excused {
		if e.command.MatchString(c.text) {
			return e.why
		}
	}
	return ""
}

// commandsOf returns the commands of a document, in order.
func commandsOf(text string) (all []command) {
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		if block[1] != "" {
			continue
		}
		transcript := strings.HasPrefix(strings.TrimSpace(block[2]), "$ ")
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			line = strings.TrimSpace(line)
			m := typed.FindStringSubmatch(line)
			switch {
			case m != nil && (!transcript || strings.HasPrefix(line, "$ ")):
				text, _, _ := strings.Cut(m[1], " #")
				all = append(all, command{text: strings.TrimSpace(text)})
			case transcript && len(all) > 0:
				all[len(all)-1].prints = append(all[len(all)-1].prints, line)
			}
		}
	}
	return all
}

// readerPages are the README and the how-tos.
func readerPages(t *testing.T) map[string]string {
	pages := map[string]string{}
	files(t, ".md", func(path, text string) {
		if path == "README.md" || strings.HasPrefix(path, "docs/howto/") {
			pages[path] = text
		}
	})
	return pages
}

// TestDocumentsCommands: every command of the README and the how-tos is run by
// scripts/long documents, or there is a reason why not; with -documents this is what runs
// them, page by page. Commands go on in the background until their page's end when they
// serve.
func TestDocumentsCommands(t *testing.T) {
	run, not := 0, 0
	for _, text := range readerPages(t) {
		for _, c := range commandsOf(text) {
			if c.why() != "" {
				not++
			} else {
				run++
			}
		}
	}
	if run < 12 || not < 12 {
		t.Errorf("%d commands are run, %d are not", run, not)
	}
	got := commandsOf("```\n$ go run . # now\nproved 3\n```\n```\nmake test\n```\n```go\ngo run x\n```")
	if len(got) != 2 || got[0].text != "go run ." || !slices.Equal(got[0].prints, []string{"proved 3"}) ||
		got[1].text != "make test" || got[1].why() == "" {
		t.Errorf("%+v", got)
	}
	if !*runDocuments {
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("plugins need Linux")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages := readerPages(t)
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		commands := slices.DeleteFunc(commandsOf(pages[path]), func(c command) bool { return c.why() != "" })
		if len(commands) > 0 {
			t.Run(path, func(t *testing.T) { newReader(t, root).all(commands) })
		}
	}
}

// reader is somebody who types what a page says.
type reader struct {
	t      *testing.T
	folder string   // where the command is typed
	env    []string // with programs that were installed in PATH
}

// newReader returns a reader in the sources, with a program of their own beside them.
func newReader(t *testing.T, root string) *reader {
	beside := t.TempDir()
	if err := os.Symlink(root, filepath.Join(beside, "pippin")); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(beside, "program")
	if err := os.Mkdir(program, 0o700); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "examples", "cubic", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The program is gnark's user after the change of the import, with pippin's versions of
	// what both need.
	_, needs, _ := strings.Cut(string(mod), "\n")
	for name, text := range map[string]string{
		"go.mod":      "module program\n" + needs,
		"main.go":     string(source),
		"proving.key": provingKey(t),
	} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// What commands write beside the example's files is not to be in the sources.
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(program, "examples")); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(program, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(beside, "bin")
	return &reader{t, root, append(os.Environ(), "GOBIN="+bin, "XDG_DATA_HOME="+filepath.Join(beside, "data"), "XDG_RUNTIME_DIR="+beside,
		"PATH="+bin+":"+filepath.Join(root, "bin")+":"+os.Getenv("PATH"), "PROGRAM="+program)}
}

// provingKey returns a file of gnark's: the key of a circuit.
func provingKey(t *testing.T) string {
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &product{})
	if err != nil {
		t.Fatal(err)
	}
	pk, _, err := groth16.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := pk.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// product is the circuit of provingKey.
type product struct{ X, Y frontend.Variable }

func (c *product) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	return nil
}

// serves are the commands that a page leaves running in another terminal.
var serves = regexp.MustCompile(`^msm cluster up|proverserver`)

// all types the commands and looks at what they print.
func (r *reader) all(commands []command) {
	ctx, stop := context.WithCancel(r.t.Context())
	var running []*exec.Cmd
	defer func() {
		for _, c := range running {
			syscall.Kill(-c.Process.Pid, syscall.SIGINT)
			c.Wait()
		}
		stop()
	}()
	for _, c := range commands {
		folder := r.folder
		switch {
		case strings.HasPrefix(c.text, "cd "):
			continue // to the sources, where a reader of this page is
		case strings.HasPrefix(c.text, "go mod "), c.text == "go run .", strings.HasPrefix(c.text, "msm key "),
			strings.HasPrefix(c.text, "msm circom "):
			folder = strings.TrimPrefix(r.env[len(r.env)-1], "PROGRAM=")
		}
		start := func() *exec.Cmd {
			cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", c.text)
			cmd.Dir, cmd.Env = folder, r.env
			return cmd
		}
		cmd := start()
		if serves.MatchString(c.text) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.StdoutPipe()
			if err != nil {
				r.t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				r.t.Fatal(err)
			}
			running = append(running, cmd)
			lines := bufio.NewScanner(out)
			if !lines.Scan() {
				cmd.Wait()
				running = running[:len(running)-1]
				r.t.Fatalf("%s: it says nothing but %s", c.text, &errs)
			}
			r.t.Logf("%s: %s", c.text, lines.Text())
			go func() {
				for lines.Scan() {
				}
			}()
			continue
		}
		// What a server is asked about may take a while to be there.
		for tried := time.Now(); ; cmd = start() {
			out, err := cmd.CombinedOutput()
			missing := slices.IndexFunc(c.prints, func(line string) bool {
				return !regexp.MustCompile(`(?m)^\s*` + shapeOf(line) + `\s*$`).Match(out)
			})
			if err == nil && missing < 0 {
				r.t.Logf("%s\n%s", c.text, out)
				break
			}
			if len(running) > 0 && time.Since(tried) < 5*time.Minute {
				time.Sleep(time.Second)
				continue
			}
			if missing >= 0 && err == nil {
				err = fmt.Errorf("it does not print %q", c.prints[missing])
			}
			r.t.Fatalf("%s: %v\n%s", c.text, err, out)
		}
	}
}

// shapeOf returns an expression for a printed line whose numbers may be others.
func shapeOf(line string) string {
	text := regexp.QuoteMeta(line)
	text = regexp.MustCompile(`\d+(\\\.\d+)?(e\\\+\d+)?`).ReplaceAllString(text, `[\d.e+]+`)
	return regexp.MustCompile(` +`).ReplaceAllString(text, ` +`)
}
