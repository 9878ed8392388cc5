package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	defined = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	flagged = regexp.MustCompile(`flag\.\w+\("([^"]+)"`)
)

// TestTable: the tests and the flags that the table names are in their packages.
func TestTable(t *testing.T) {
	for _, row := range tests {
		for in := range strings.FieldsSeq(row.in) {
			checkIn(t, &row, in)
		}
		if row.in == "" || row.takes == "" || row.what == "" {
			t.Errorf("%s: where, what it does, and how long, is not said", row.name)
		}
	}
}

// checkIn looks for the tests and flags of a row in one of its packages.
func checkIn(t *testing.T, row *test, in string) {
	files, err := filepath.Glob(filepath.Join("../..", in, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: no tests in %s", row.name, in)
		return
	}
	var names, flags []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range defined.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		for _, m := range flagged.FindAllStringSubmatch(string(text), -1) {
			flags = append(flags, "-"+m[1])
		}
	}
	for one := range strings.SplitSeq(strings.Trim(row.tests, "^$()"), "|") {
		if one != "." && !slices.Contains(names, one) {
			t.Errorf("%s: no %s in %s", row.name, one, in)
		}
	}
	for _, word := range append(strings.Fields(row.flags), row.record, row.commit) {
		if strings.HasPrefix(word, "-") && !slices.Contains(flags, word) {
			t.Errorf("%s: no flag %s in %s", row.name, word, in)
		}
	}
}

// TestRecorded: the file of a record is where the user says, wherever the test runs.
func TestRecorded(t *testing.T) {
	soak := test{record: "-soak"}
	got, err := soak.recorded([]string{"-v", "-record", "a.json", "-batches", "7"})
	here, _ := filepath.Abs("a.json")
	if want := []string{"-v", "-soak", here, "-batches", "7"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("flags %q, %v, want %q", got, err, want)
	}
	if got, err := soak.recorded([]string{"-v"}); err != nil || !slices.Equal(got, []string{"-v"}) {
		t.Errorf("flags %q, %v without a record", got, err)
	}
	if _, err := soak.recorded([]string{"-record"}); err == nil {
		t.Error("a record without a file is not refused")
	}
	if _, err := (&test{}).recorded([]string{"-record", "a.json"}); err == nil {
		t.Error("a record of a test that makes none is not refused")
	}
}
