package logs

import (
	"bytes"
	"testing"
)

func TestLineWriter(t *testing.T) {
	var lines []string
	w := &lineWriter{line: func(s string) { lines = append(lines, s) }}
	long := bytes.Repeat([]byte("x"), maxLine+5)
	for _, p := range [][]byte{[]byte("a"), []byte("b\nc\n\n"), long, []byte("\nend")} {
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	if len(lines) != 6 || lines[0] != "ab" || lines[1] != "c" || len(lines[3]) != maxLine || lines[4] != "xxxxx" || lines[5] != "end" {
		t.Errorf("%d lines", len(lines))
	}
}
