package msmplan

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// TestSamePlans: the plans for an H200 are those in testdata, unless somebody means to
// change them.
func TestSamePlans(t *testing.T) {
	var got bytes.Buffer
	eachPlanned(func(c backend.Curve, g backend.Group) {
		for _, k := range []int{10, 14, 16, 20, 22, 24, 26} {
			for _, of := range []struct {
				memory         int64
				most, together int
			}{{130 << 30, 1, 1}, {130 << 30, 64, 1}, {6 << 30, 1, 1}, {130 << 30, 1, 16}} {
				in := inputOf(c, g, 1<<k, of.memory)
				if in.Together = of.together; of.most > 1 {
					in.Multiples = ChooseMultiples(in, of.most, of.memory/2)
					in.Memory -= in.TableBytes(in.Multiples)
				}
				p, err := New(in)
				if err != nil {
					t.Fatalf("%v %v 2^%d in %d: %v", c, g, k, of.memory, err)
				}
				first, joins := p.Reduction()
				fmt.Fprintf(&got, "%v %v 2^%d %+v: %d rows by %d, %d bits, %d sets, %d skipped, %d steps from "+
					"%d, %d levels, pieces of %d, %d then %d, %d bytes, cost %.12g\n",
					c, g, k, of, in.Multiples.Rows, in.Multiples.Shift, p.Width, p.Sets, p.Skip, len(p.Chunks),
					p.Chunks[0], p.Levels, p.Piece, first, len(joins), p.Need(), p.Cost())
			}
		}
	})
	path := filepath.Join("testdata", "plans-h200.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("plans differ from %s; go test -update rewrites it", path)
	}
}
