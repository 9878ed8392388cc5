package table

import (
	"strings"
	"testing"
)

var (
	columns = []Column{{"n", Never}, {"runs", 1}, {"backend", 3}, {"median ms", Never}, {"min ms", 1}, {"µ", 2}}
	rows    = [][]string{{"2^10", "5", "cpu", "1.25", "1.2", "ä"}, {"2^20", "5", "plugin:cpu", "1000", "999", "b"}}
)

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		width int
		right bool
		want  string
	}{
		{0, true, `
     n  runs     backend  median ms  min ms  µ
  2^10     5         cpu       1.25     1.2  ä
  2^20     5  plugin:cpu       1000     999  b
`},
		{44, false, `
n     runs  backend     median ms  µ
2^10  5     cpu         1.25       ä
2^20  5     plugin:cpu  1000       b
No room for: min ms. Files and pipes get them.
`},
		{30, true, `
     n     backend  median ms
  2^10         cpu       1.25
  2^20  plugin:cpu       1000
No room for: runs, min ms, µ. Files and pipes get them.
`},
		{5, true, `
     n  median ms
  2^10       1.25
  2^20       1000
No room for: runs, backend, min ms, µ. Files and pipes get them.
`},
	} {
		var b strings.Builder
		if err := Write(&b, Form{Width: c.width}, c.right, columns, rows); err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines("\n" + b.String()) {
			got = append(got, strings.TrimRight(l, " \n")+"\n")
		}
		if s := strings.Join(got, ""); s != c.want {
			t.Errorf("width %d:%s", c.width, s)
		}
	}
}

// TestWidth: no line is longer than the room, as long as there is a column to go.
func TestWidth(t *testing.T) {
	for width := 20; width < 60; width++ {
		var b strings.Builder
		if err := Write(&b, Form{Width: width}, true, columns, rows); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > width && !strings.HasPrefix(l, "No room") {
				t.Errorf("%d characters in %d: %s", n, width, l)
			}
		}
	}
}

// TestStyles: files for other programs have every column, and Markdown a row that says how
// they are aligned.
func TestStyles(t *testing.T) {
	odd := [][]string{{"1", "a|b", "c,d", "2.5", `"x"`, ""}}
	for _, c := range []struct {
		style Style
		want  string
	}{
		{Markdown, "above\n| n | runs | backend | median ms | min ms | µ |\n| ---: | ---: | ---: | ---: | " +
			"---: | ---: |\n| 1 | a\\|b | c,d | 2.5 | \"x\" |  |\nbelow\n"},
		{CSV, "n,runs,backend,median ms,min ms,µ\n1,a|b,\"c,d\",2.5,\"\"\"x\"\"\",\n"},
	} {
		var b strings.Builder
		if err := WriteWith(&b, Form{Style: c.style, Width: 5}, "above\n", columns, odd, "below\n"); err != nil || b.String() != c.want {
			t.Errorf("%v, %s", err, b.String())
		}
	}
}
