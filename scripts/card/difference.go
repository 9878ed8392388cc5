package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verified is a run of the record: the cases of one process.
type verified struct {
	Op      string `json:"op"` // "verify"
	Backend string `json:"backend"`
	Curve   string `json:"curve"`
	Cases   string `json:"cases"`
	Seed    int64  `json:"seed"`
	Tried   int    `json:"tried"`
	Failed  int    `json:"failed"`

	said string
}

// kinds are how many kinds of cases there are: TestDifference has as many of each.
const kinds = 4

func processors() int { return runtime.NumCPU() }

// difference compares random cases. As many processes share the card as there are pairs of
// processors, eight at most, each with its seeds and its part of the card's memory: while one
// of their cases is on the card, others are computed on processors.
func (b *built) difference(args []string) error {
	flags := flag.NewFlagSet("difference", flag.ContinueOnError)
	seed := flags.Int64("seed", time.Now().Unix(), "of the first process")
	within := flags.Int("within", 330, "seconds after which no case begins")
	others := flags.String("flags", "", "of TestDifference, such as -full for the fake driver")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cases := 100_000
	if text := flags.Arg(1); text != "" {
		var err error
		if cases, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	if flags.NArg() == 0 {
		return errors.New("say where the record goes: difference RESULTS [CASES]")
	}
	m, err := b.thisMachine()
	if err != nil {
		return err
	}
	memory, err := bytesOf(m.Memory)
	if err != nil {
		return err
	}
	workers := min(max(processors()/2, 1), 8)
	c := comparison{
		program: filepath.Join(b.folder, "cuda.test"), cases: (cases + kinds*workers - 1) / (kinds * workers), within: *within,
		memory: memory / int64(2*workers), threads: (processors() + workers - 1) / workers, flags: strings.Fields(*others),
	}
	runs, tried := make([]verified, workers), 0
	start := time.Now()
	var all sync.WaitGroup
	for k := range runs {
		all.Go(func() { runs[k] = c.run(*seed + int64(k)) })
	}
	all.Wait()
	took := float64(time.Since(start).Milliseconds()/100) / 10
	failed := false
	for _, r := range runs {
		tried, failed = tried+r.Tried, failed || r.Failed > 0
		os.Stderr.WriteString(r.said)
	}
	if err := write(flags.Arg(0), "difference", m, map[string]any{"machine": m, "seconds": took, "runs": runs}); err != nil {
		return err
	}
	fmt.Printf("%d cases in %.1f s\n", tried, took)
	if failed || tried < cases {
		return errors.New("a case differs, or there were fewer")
	}
	return nil
}

// bytesOf reads a size as nvidia-smi writes it, such as "143771 MiB".
func bytesOf(text string) (int64, error) {
	mib, err := strconv.ParseInt(strings.TrimSuffix(text, " MiB"), 10, 64)
	return mib << 20, err
}

var compared = regexp.MustCompile(`(\d+) cases in .*none differs`)

// comparison is what each process is told.
type comparison struct {
	program string
	cases   int // of each kind
	within  int // seconds
	memory  int64
	threads int // of Go
	flags   []string
}

// run runs TestDifference.
func (c *comparison) run(seed int64) verified {
	run := verified{Op: "verify", Backend: "cuda", Curve: "all", Cases: "small random cases beside the CPU", Seed: seed, Failed: 1}
	cmd := exec.Command(c.program, append([]string{
		"-test.v", "-test.timeout", fmt.Sprintf("%ds", c.within+60), "-test.run", "^TestDifference$",
		"-seed", strconv.FormatInt(seed, 10), "-cases", strconv.Itoa(c.cases), "-within", fmt.Sprintf("%ds", c.within),
		"-memory", strconv.FormatInt(c.memory, 10),
	}, c.flags...)...)
	cmd.Env = append(os.Environ(), "PIPPIN_GPU=1", fmt.Sprintf("GOMAXPROCS=%d", c.threads))
	out, err := cmd.CombinedOutput()
	if m := compared.FindSubmatch(out); m != nil {
		run.Tried, _ = strconv.Atoi(string(m[1]))
		run.Failed = 0
	}
	if err != nil {
		run.Failed = 1
	}
	if run.Failed > 0 {
		run.said = fmt.Sprintf("difference: seed %d: %v\n%s", seed, err, ending(string(out)))
	}
	return run
}
