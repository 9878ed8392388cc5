package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	tools  = []string{"memcheck", "racecheck", "initcheck", "synccheck"}
	curves = []string{"bn254", "bls12-377", "bls12-381", "bw6-761"}
)

// part is tests of a program, for the tools to look at.
type part struct {
	name    string
	program string
	tests   string
	passed  string // what of them has passed when all is well
	flags   []string
}

// parts returns the parts, the longest first.
func parts() []part {
	ps := []part{{"numbers", "cuda", `^TestEveryOperation$`, "TestEveryOperation", nil}}
	for _, g := range groups() {
		ps = append(ps, part{"phases " + g, "cuda", `^TestEveryPhase$`, "TestEveryPhase/" + g, []string{"-groups", g}})
	}
	for _, g := range groups() {
		ps = append(ps, part{"points " + g, "cuda", `^TestEveryPointStep$`, "TestEveryPointStep/" + g, []string{"-groups", g}})
	}
	for _, c := range curves {
		ps = append(ps, part{"vectors " + c, "cuda", `^TestEveryStep$`, "TestEveryStep/" + c, []string{"-curves", c}})
	}
	ps = append(ps,
		part{"direct", "msm", `^TestDirect$/infinities`, "TestDirect", nil},
		part{"units", "msm", `^TestUnits$/./^(1536|1728)/infinities`, "TestUnits", nil},
		part{"affine", "msm", `^TestAffineSums$/repeated`, "TestAffineSums", nil})
	for _, c := range curves[1:] {
		ps = append(ps, part{"pairs " + c, "msm", `^TestPairs$/^` + c + `.*repeated`, "TestPairs", nil})
	}
	const numbers = `^Test(LongAddition|LongAdditionLooksBack|Powers|GroupedResidues|GroupedPowers|BinaryFields)$`
	return append(ps,
		part{"kernels msm", "grid", `^Test(Planes|Sort|BadScalars|UnitDigits)$`, "TestPlanes", nil},
		part{"kernels number", "grid", numbers, "TestBinaryFields", nil},
		part{"kernels short", "grid", `^TestShortFields$`, "TestShortFields", nil},
		part{"kernels memory", "grid", `^TestOverwrite$`, "TestOverwrite", []string{"-instrumented"}})
}

func groups() (gs []string) {
	for _, c := range curves {
		gs = append(gs, c+"/g1", c+"/g2")
	}
	return gs
}

// sanitized is a run of the record.
type sanitized struct {
	Op      string  `json:"op"` // "sanitize"
	Tool    string  `json:"tool"`
	Part    string  `json:"part"`
	Tests   int     `json:"tests"`  // that passed
	Errors  int     `json:"errors"` // -1 when the tool has not said
	Exit    int     `json:"exit"`
	Seconds float64 `json:"seconds"`

	problem string // what was wrong, if anything
}

// beside is how many runs of a tool there are at the same time.
const beside = 8

// sanitize runs each tool over each part.
func (b *built) sanitize(args []string) error {
	flags := flag.NewFlagSet("sanitize", flag.ContinueOnError)
	seconds := flags.Int("seconds", 400, "for a tool over a part")
	all := flags.Int("all", 480, "seconds after which none begins")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("say where the record goes: sanitize RESULTS [PARTS]")
	}
	only, err := regexp.Compile(flags.Arg(1))
	if err != nil {
		return err
	}
	m, err := b.thisMachine()
	if err != nil {
		return err
	}
	tool, err := sanitizer()
	if err != nil {
		return err
	}
	if m.Sanitizer, err = versionOf(tool); err != nil {
		return err
	}
	s := &sanitizing{built: b, program: tool, each: time.Duration(*seconds) * time.Second}
	runs := s.over(only, time.Now().Add(time.Duration(*all)*time.Second))
	if err := write(flags.Arg(0), "sanitize", m, map[string]any{"machine": m, "runs": runs}); err != nil {
		return err
	}
	if s.failed {
		return errors.New("something was found, or not looked at")
	}
	return nil
}

// sanitizer returns the path of compute-sanitizer.
func sanitizer() (string, error) {
	if path, err := exec.LookPath("compute-sanitizer"); err == nil {
		return path, nil
	}
	const path = "/usr/local/cuda/bin/compute-sanitizer"
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no compute-sanitizer in PATH or /usr/local/cuda/bin")
	}
	return path, nil
}

var versionLine = regexp.MustCompile(`(?m)^Version (.*)$`)

func versionOf(sanitizer string) (string, error) {
	out, err := exec.Command(sanitizer, "--version").Output()
	if err != nil {
		return "", err
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s says no version", sanitizer)
	}
	return string(m[1]), nil
}

// sanitizing is a call of sanitize.
type sanitizing struct {
	built   *built
	program string // compute-sanitizer
	each    time.Duration

	mu     sync.Mutex
	failed bool
}

// over runs the tools over the parts of a name, some beside each other, and returns the runs
// in their order. None begins after end.
func (s *sanitizing) over(only *regexp.Regexp, end time.Time) (runs []*sanitized) {
	var all sync.WaitGroup
	room := make(chan struct{}, beside)
	for _, p := range parts() {
		if !only.MatchString(p.name) {
			continue
		}
		for _, tool := range tools {
			room <- struct{}{}
			if time.Now().After(end) {
				<-room
				s.fail(fmt.Sprintf("no time was left for %s, %s\n", tool, p.name))
				continue
			}
			run := new(sanitized)
			runs = append(runs, run)
			all.Go(func() {
				defer func() { <-room }()
				*run = s.one(tool, p)
				if run.problem != "" {
					s.fail(run.problem)
				}
			})
		}
	}
	all.Wait()
	return runs
}

func (s *sanitizing) fail(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
	fmt.Fprintf(os.Stderr, "sanitize: %s", why)
}

// one runs the tests of a part under a tool.
func (s *sanitizing) one(tool string, p part) sanitized {
	args := []string{"--tool", tool, "--error-exitcode", "86"}
	if tool == "memcheck" {
		// A call that the driver refuses is no error here: the driver layer asks for a kernel's
		// parameters until there are no more.
		args = append(args, "--report-api-errors", "no")
	}
	args = append(args, filepath.Join(s.built.folder, p.program+".test"), "-test.v", "-test.count=1", "-test.run", p.tests)
	switch p.program {
	case "cuda":
		args = append(args, "-seed", "1", "-memory", strconv.Itoa(1<<30))
	case "msm":
		args = append(args, "-seed", "1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.each)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, append(args, p.flags...)...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "PIPPIN_GPU=1")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	run, ok := judged(string(out), p)
	run.Tool, run.Exit = tool, exitOf(cmd, err)
	run.Seconds = float64(time.Since(start).Milliseconds()/100) / 10
	if !ok || run.Exit != 0 {
		run.problem = fmt.Sprintf("%s, %s: exit status %d, %d errors, %d tests passed\n%s",
			tool, p.name, run.Exit, run.Errors, run.Tests, ending(string(out)))
	}
	return run
}

// exitOf returns the exit status of a command; -1 when it was ended, or never began.
func exitOf(cmd *exec.Cmd, err error) int {
	if err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 0) {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

var (
	// summary is what tools say at the end: "ERROR SUMMARY: 2 errors", "RACECHECK SUMMARY: 2
	// hazards displayed (1 error, 1 warning)".
	summary = regexp.MustCompile(`(?m)^========= [A-Z]+ SUMMARY: (\d+) `)
	passed  = regexp.MustCompile(`(?m)^ *--- PASS: (\S+) `)
	telling = regexp.MustCompile(`(?m)^.*(?:--- FAIL|_test\.go:\d+:).*$`)
)

// judged reads what the tests of a part and the tool over them have printed, and tells whether
// all is well.
func judged(out string, p part) (run sanitized, ok bool) {
	run = sanitized{Op: "sanitize", Part: p.name, Errors: -1}
	if all := summary.FindAllStringSubmatch(out, -1); all != nil {
		run.Errors, _ = strconv.Atoi(all[len(all)-1][1])
	}
	for _, m := range passed.FindAllStringSubmatch(out, -1) {
		run.Tests++
		ok = ok || m[1] == p.passed
	}
	return run, ok && run.Errors == 0
}

// ending returns what is worth reading of an output: failures, and its last lines.
func ending(out string) string {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	lines = append(telling.FindAllString(out, -1), lines[max(0, len(lines)-40):]...)
	return strings.Join(lines, "\n") + "\n"
}
