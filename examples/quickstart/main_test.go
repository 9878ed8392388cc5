package main

import "testing"

func TestRun(t *testing.T) {
	points, scalars, want := input(1 << 12)
	if err := run(t.Context(), points, scalars, want); err != nil {
		t.Fatal(err)
	}
}

func TestRunSeesAWrongAnswer(t *testing.T) {
	points, scalars, want := input(100)
	want.Add(&want, &points[0])
	if err := run(t.Context(), points, scalars, want); err == nil {
		t.Fatal("a wrong answer was called right")
	}
}
