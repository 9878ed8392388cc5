package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestPackagesOf: of what go test prints, tests that failed are named, those too that ran when
// their process ended, and only they are heard.
func TestPackagesOf(t *testing.T) {
	const out = `{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"well\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":1}
{"Action":"run","Package":"b","Test":"TestSkipped"}
{"Action":"skip","Package":"b","Test":"TestSkipped"}
{"Action":"run","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"no \"way\"\n"}
{"Action":"fail","Package":"b","Test":"TestBad","Elapsed":2}
{"Action":"pass","Package":"a","Elapsed":1.5}
# no event
{"Action":"run","Package":"b","Test":"TestHangs"}
{"Action":"output","Package":"b","Test":"TestHangs","Output":"panic\n"}
{"Action":"output","Package":"b","Output":"FAIL\n"}
{"Action":"fail","Package":"b","Elapsed":2.5}
{"Action":"skip","Package":"none"}
`
	got := packagesOf([]byte(out))
	want := []tested{
		{name: "a", passed: true, seconds: 1.5, failed: []string{}},
		{name: "b", seconds: 2.5, failed: []string{"TestBad", "TestHangs"},
			said: "b : FAIL\nb TestBad: no \"way\"\nb TestHangs: panic\n"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("packages\n%+v\nwant\n%+v", got, want)
	}
}

// TestRecorded: a record is gone on with after its last time, and a failure in it stays one.
func TestRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results", "suite.jsonl")
	want := func(next int, failed bool) {
		t.Helper()
		n, f, err := recorded(file)
		if n != next || f != failed || err != nil {
			t.Errorf("next is %d, failed %v, %v; want %d, %v", n, f, err, next, failed)
		}
	}
	want(1, false)
	for _, step := range []struct {
		lines  string
		next   int
		failed bool
	}{
		{`{"time":1,"package":"a","passed":true}` + "\n", 2, false},
		{`{"time":2,"package":"a","passed":false}` + "\n" + `{"time":2,"package":"b","passed":true}` + "\n", 3, true},
		{`{"time":3,"package":"a","passed":true}` + "\n", 4, true},
	} {
		if err := add(file, []byte(step.lines)); err != nil {
			t.Fatal(err)
		}
		want(step.next, step.failed)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := recorded(file); err == nil {
		t.Error("half a line is taken for a record")
	}
}
