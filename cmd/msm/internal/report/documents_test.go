package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/internal/units"
)

var (
	recordLink = regexp.MustCompile(`bench/results/[\w./-]+\.json`)
	sizeColumn = regexp.MustCompile(`2\^(\d+)$`)
	numberCell = regexp.MustCompile(`(x |\()?(\d+(?:\.(\d+))?)( [kM]\b)?`)
	circuits   = map[string]string{
		"ECDSA": "ecdsa", "SHA-256": "sha256-2k", "recursion": "recursion", "a BLS12-377 proof": "recursion", "594 MiMC": "mimc-594",
	}
)

// TestDocumentsAgreeWithRecords looks up the numbers in the tables of README.md,
// docs/results.md, the ADRs and three pages of the laboratory book in the records that the table's paragraph or row links to: tables
// of MSMs and transforms, with a column a size and the fastest of other libraries in
// brackets, of steps over vectors, with one for each curve and size, and of proofs, with
// a column "gnark".
func TestDocumentsAgreeWithRecords(t *testing.T) {
	documents, err := filepath.Glob("../../../../docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range append(documents, "../../../../README.md", "../../../../docs/results.md",
		"../../../../docs/lab/boundary.md", "../../../../docs/lab/transforms.md", "../../../../docs/lab/vectors.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n, problems := compareTables(string(text))
		for _, p := range problems {
			t.Errorf("%s: %s", path, p)
		}
		compared += n
	}
	if compared < 75 {
		t.Errorf("only %d numbers were compared", compared)
	}
}

// compareTables returns the number of numbers compared, and what is wrong.
func compareTables(text string) (compared int, problems []string) {
	var paragraph string // before the table
	var head []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			if line != "" {
				paragraph = line
			}
			head = nil
		case head == nil:
			head = cells(line)
		default:
			row := cells(line)
			if len(row) != len(head) || strings.HasPrefix(row[0], "--") {
				continue
			}
			runs, err := linkedRuns(paragraph + line)
			for i := 1; i < len(row) && err == nil; i++ {
				var n int
				n, err = compareCell(runs, row[0], head[i], row[i], strings.Contains(paragraph, "minimum"))
				compared += n
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", line, err))
			}
		}
	}
	return compared, problems
}

func cells(line string) []string {
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// linkedRuns reads the records that a text links to.
func linkedRuns(text string) (runs []Run, err error) {
	for _, link := range recordLink.FindAllString(text, -1) {
		f, err := os.Open(filepath.Join("../../../..", link))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r, err := Read(f)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r.Runs...)
	}
	return runs, nil
}

// compareCell looks for a run that has the cell's numbers: the rounding of a
// record's. It passes over cells without numbers and columns that it does not
// know.
func compareCell(runs []Run, row, column, cell string, minimum bool) (compared int, err error) {
	which := func(r Run) bool {
		return r.Value(FigureConstraints) > 0 && strings.Contains(row, circuitName(r.What, row))
	}
	var value func(Run) float64
	size := sizeColumn.FindStringSubmatch(column)
	switch {
	case size != nil:
		log, _ := strconv.Atoi(size[1])
		backend := "cuda"
		if strings.Contains(column, "cores") {
			backend = "cpu"
		}
		if name, on, ok := strings.Cut(row, ", `"); ok { // a row a backend
			row, backend = name, strings.TrimSuffix(on, "`")
		}
		row, hinted := strings.CutSuffix(row, ", with the hint")
		transform, onCPU := strings.CutSuffix(row, ", gnark-crypto")
		row, batch := strings.CutSuffix(strings.TrimSuffix(row, ", alone"), ", in a batch")
		which = func(r Run) bool {
			switch r.Op {
			case "vector":
				return r.What == row && strings.HasPrefix(column, r.Curve) && r.N == 1<<log
			case "ntt", OpPeerTransform:
				return r.Curve+", "+r.What == transform && r.N == 1<<log
			case OpPeer:
				return r.Inputs[InputLibrary] == Pippin && strings.EqualFold(r.Curve+" "+r.Group, row) && r.N == 1<<log
			}
			return strings.EqualFold(r.Curve+" "+r.Group, row) && r.N == 1<<log && hinted == (r.Notes["hint"] != "") &&
				(r.Backend == backend || backend == "cuda" && r.Backend == "plugin:cuda") && r.Inputs[InputDistribution] == "uniform"
		}
		value = func(r Run) float64 { return r.Median }
		switch {
		case onCPU || strings.Contains(column, "on 16 cores"):
			value = func(r Run) float64 { return r.Value(FigureCPU) }
		case batch:
			value = func(r Run) float64 {
				if v := r.Value(FigureBatch); v > 0 {
					return v
				}
				return math.NaN()
			}
		case minimum:
			value = func(r Run) float64 { return r.Min }
		}
	case column == "constraints":
		value = func(r Run) float64 { return r.Value(FigureConstraints) }
	case column == "gnark":
		value = func(r Run) float64 { return r.Value(FigureStock) }
	case column == "`cpu`", column == "`cuda`":
		value = func(r Run) float64 { return onBackend(r, column, r.Median) }
	case strings.HasPrefix(column, "`cuda`") && strings.Contains(column, "solv"):
		value = func(r Run) float64 { return onBackend(r, "`cuda`", r.Value(FigureWithoutSolving)) }
	default:
		return 0, nil
	}
	for _, m := range numberCell.FindAllStringSubmatch(cell, -1) {
		want, _ := strconv.ParseFloat(m[2], 64)
		scale := map[string]float64{"": 1, " k": 1e3, " M": 1e6}[m[4]]
		equal := func(v float64) bool { return math.Abs(v/scale-want) <= 0.5*math.Pow10(-len(m[3]))+1e-9 }
		look := value
		if m[1] == "x " && !strings.Contains(column, "solv") {
			look = func(r Run) float64 { return onBackend(r, column, r.Value(FigureSpeedup)) }
		}
		found := false
		for _, r := range runs {
			found = found || which(r) && equal(look(r))
		}
		if m[1] == "(" {
			found = equal(fastestPeer(runs, row, column))
		}
		if !found {
			return compared, fmt.Errorf("%s in column %q is in no record that is linked", m[0], column)
		}
		compared++
	}
	return compared, nil
}

// fastestPeer returns the least time of another library's MSM, infinite where there is
// none: its median, or its best time in a record that has no medians.
func fastestPeer(runs []Run, row, column string) float64 {
	least := math.Inf(1)
	for _, r := range runs {
		if r.Op == OpPeer && r.Inputs[InputLibrary] != Pippin && strings.EqualFold(r.Curve+" "+r.Group, row) && units.FormatSize(r.N) == column {
			if r.Median == 0 {
				r.Median = r.Min
			}
			least = min(least, r.Median)
		}
	}
	return least
}

// circuitName returns what a row calls the circuit, or what no row says.
func circuitName(circuit, row string) string {
	for name, c := range circuits {
		if c == circuit && strings.Contains(row, name) {
			return name
		}
	}
	return "\x00"
}

// onBackend returns v for a run on the backend of a column, with merging where it pays.
func onBackend(r Run, column string, v float64) float64 {
	if "`"+r.Backend+"`" != column || r.Inputs[InputMerge] == string(MergeNever) {
		return math.NaN()
	}
	return v
}

// TestCompareTablesRefuses shows that the comparison can fail.
func TestCompareTablesRefuses(t *testing.T) {
	const good = "Median ([G1](bench/results/h200/msm-g1.json)):\n\n| | 2^20 | 2^22 |\n|---|---|---|\n| BN254 G1 | 3.32 | 10.7 |\n\n" +
		"Hinted ([u](bench/results/h200/msm-uniform.json)):\n\n| | 2^24 |\n|---|---|\n| BN254 G1, with the hint | 35.5 |\n\n" +
		"Beside ([x](bench/results/xeon16/plugin-cpu.json)):\n\n| | 2^16 |\n|---|---|\n| BN254 G1, `cpu` " +
		"| 42.4 |\n| BLS12-381 G1, `plugin:cpu` | 62.4 |\n\n" +
		"Steps ([steps](bench/results/h200/vectors.json)), of which the minimum counts:\n\n| | bn254, 2^22 " +
		"| least | bn254 on 16 cores, 2^22 |\n|---|---|---|---|\n| a - b | 0.100 | 0.094 | 4.2 |\n\n" +
		"Ours, and others' ([G1](bench/results/h200/msm-g1.json), [others](bench/results/h200/peers.json)):\n\n| " +
		"| 2^22 |\n|---|---|\n| BLS12-381 G1 | 18.9 (30.2) |\n\n" +
		"One run ([G2](bench/results/h200/peers-g2.json)):\n\n| | 2^20 |\n|---|---|\n| BN254 G2 | 8.68 (24.0) |\n\n" +
		"Proofs:\n\n| | constraints | gnark | `cuda` | `cuda`, without solving |\n|---|---|---|---|---|\n" +
		"| [ECDSA](bench/results/h200/prove-groth16-ecdsa.json) | 185 k | 884 ms | 53 ms, x 16.6 | x 62.3 |\n"
	if n, problems := compareTables(good); n != 16 || len(problems) > 0 {
		t.Fatalf("%d numbers, %v", n, problems)
	}
	for _, change := range [][2]string{
		{"3.32", "3.34"}, {"42.4", "42.1"}, {"62.4", "70.6"}, {"`plugin:cpu`", "`cpu`"}, {"10.7", "10.9"},
		{"BN254 G1, with the hint", "BN254 G1"}, {"35.5", "38.0"},
		{"BN254 G1", "BN254 G2"}, {"| 2^22", "| 2^21"}, {"msm-g1", "msm-g2"}, {"([G1](bench/results/h200/msm-g1.json))", ""},
		{"185 k", "186 k"}, {"884", "885"}, {"| 53", "| 52"}, {"16.6", "16.5"}, {"62.3", "62.4"},
		{"groth16-ecdsa", "groth16-sha256-2k"}, {"Median", "The minimum"}, {"0.100", "0.111"},
		{"4.2 |", "9.9 |"}, {"| a - b", "| a b - c"}, {"vectors.json", "ntt.json"},
		{"(30.2)", "(34.3)"}, {"(30.2)", "30.2"}, {"(30.2)", "(30.1)"}, {"peers.json", "msm-g2.json"},
		{"8.68", "24.0"}, {"(24.0)", "(8.68)"}, {"(24.0)", "(25.3)"},
	} {
		if _, problems := compareTables(strings.Replace(good, change[0], change[1], 1)); len(problems) == 0 {
			t.Errorf("%s instead of %s is not noticed", change[1], change[0])
		}
	}
}
