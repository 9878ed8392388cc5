package grid_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// counted is one metric of all launches of one kernel, a run of a record.
type counted struct {
	Op       string  `json:"op"` // "number-trace"
	Kernel   string  `json:"kernel"`
	Metric   string  `json:"metric"`
	Launches int     `json:"launches"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Same     bool    `json:"same"`
	Again    bool    `json:"same_again"` // for the same secrets: the last two launches
	last     float64
}

// countsOf reads the CSV of ncu, one line a metric of a launch, with whatever the
// profiled program and ncu itself printed before it.
func countsOf(r io.Reader) (all []*counted, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	from := strings.Index("\n"+string(text), "\n\"ID\",")
	if from < 0 {
		return nil, fmt.Errorf("no line of column names: is it the output of ncu --csv?")
	}
	in := csv.NewReader(strings.NewReader(string(text[from:])))
	in.FieldsPerRecord = -1 // what the program prints at its end follows
	names, err := in.Read()
	if err != nil {
		return nil, err
	}
	kernel, metric, value := slices.Index(names, "Kernel Name"), slices.Index(names, "Metric Name"), slices.Index(names, "Metric Value")
	if min(kernel, metric, value) < 0 {
		return nil, fmt.Errorf("columns are %q", names)
	}
	for {
		line, err := in.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) != len(names) {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(line[value], ",", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", line[metric], line[kernel], err)
		}
		i := slices.IndexFunc(all, func(c *counted) bool { return c.Kernel == line[kernel] && c.Metric == line[metric] })
		if i < 0 {
			i = len(all)
			all = append(all, &counted{Op: "number-trace", Kernel: line[kernel], Metric: line[metric], Least: v, Most: v, last: v})
		}
		c := all[i]
		c.Launches++
		c.Least, c.Most = min(c.Least, v), max(c.Most, v)
		c.Same, c.Again, c.last = c.Least == c.Most, v == c.last, v
	}
}

func TestCountsOf(t *testing.T) {
	const text = `==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","pippin_a","inst","inst","1,200"
"0","7","pippin_a","sectors","sector","7"
"1","7","pippin_b","inst","inst","5"
"2","7","pippin_a","inst","inst","1,200"
"2","7","pippin_a","sectors","sector","8"
PASS
`
	all, err := countsOf(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []counted
	for _, c := range all {
		got = append(got, *c)
	}
	want := []counted{
		{"number-trace", "pippin_a", "inst", 2, 1200, 1200, true, true, 1200},
		{"number-trace", "pippin_a", "sectors", 2, 7, 8, false, false, 8},
		{"number-trace", "pippin_b", "inst", 1, 5, 5, true, true, 5},
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %v", got)
	}
	if _, err := countsOf(strings.NewReader("==PROF== No kernels were profiled.\n")); err == nil {
		t.Error("nothing was counted, and no error")
	}
}
