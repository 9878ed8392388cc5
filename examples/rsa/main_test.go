package main

import "testing"

func TestRun(t *testing.T) {
	if err := run(t.Context(), "cpu", 5); err != nil {
		t.Fatal(err)
	}
}
