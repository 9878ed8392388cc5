package main

import "testing"

func TestRun(t *testing.T) {
	if err := run(t.Context(), "cpu", 100, t.Logf); err != nil {
		t.Fatal(err)
	}
}
