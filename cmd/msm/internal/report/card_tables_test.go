package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

const cardTable = `{"machine": {"gpu": "a card", "cuda_driver": "13.0", "toolkit": "13.5"}, "runs": [
	{"op": "table", "table": "karatsuba", "method": "schoolbook", "bits": 64, "x": 64, "gops": 1234.5678, "checked": true},
	{"op": "table", "table": "karatsuba", "method": "Karatsuba", "bits": 64, "x": 64, "gops": 321, "checked": true},
	{"op": "table", "table": "karatsuba", "method": "schoolbook", "bits": 2048, "x": 2048, "gops": 0.25, "checked": true}
]}`

func TestCardTable(t *testing.T) {
	read, err := ReadCardTable(strings.NewReader(cardTable))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteCardTable(&b, table.Form{}, read); err != nil {
		t.Fatal(err)
	}
	const want = `Whole products, schoolbook and Karatsuba
a card, CUDA 13.0, compiled by 13.5

  bits  schoolbook  Karatsuba
    64        1235        321
  2048        0.25           

10^9 operations a second.
`
	if b.String() != want {
		t.Errorf("the table is\n%s\nnot\n%s", b.String(), want)
	}
}

func TestCardTableRefuses(t *testing.T) {
	run := `{"op": %q, "table": %q, "method": %q, "x": %s, "gops": %s, "checked": true}`
	if _, err := ReadCardTable(strings.NewReader(`{"runs": [` + fmt.Sprintf(run, "table", "code", "C", "1", "1") + `]}`)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "{}", `{"runs": []}`,
		`{"runs": [` + strings.Replace(fmt.Sprintf(run, "table", "code", "C", "1", "1"), "true", "false", 1) + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "mul", "code", "C", "1", "1") + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "table", "cord", "C", "1", "1") + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "table", "code", "", "1", "1") + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "table", "code", "C", "0", "1") + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "table", "code", "C", "1", "-1") + `]}`,
		`{"runs": [` + fmt.Sprintf(run, "table", "code", "C", "1", "1") + `, ` + fmt.Sprintf(run, "table", "grid", "C", "1", "1") + `]}`,
	} {
		if _, err := ReadCardTable(strings.NewReader(bad)); !errors.Is(err, ErrNoCardTable) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
