package main

import "testing"

func TestRun(t *testing.T) {
	if err := run(t.Context(), "cpu", 20, 3); err != nil {
		t.Fatal(err)
	}
}
