package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/doctor"
	"github.com/pippin-zk/pippin/plugin"
)

func diagnose(t *testing.T, a *App, args ...string) (int, diagnosis) {
	t.Helper()
	status, out, errs := cli(t, a, append([]string{"doctor", "--format", "json", "--curve", "bn254", "--group", "g1"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
	}
	if (status == ExitOK) != d.Ready || (status == ExitFailed) == d.Ready || d.Ready != (errs == "") {
		t.Errorf("status %d, ready %v, %s", status, d.Ready, errs)
	}
	return status, d
}

// finding is the first of a check and a state.
func (d diagnosis) finding(check string, s doctor.State) string {
	for _, f := range d.Findings {
		if f.Check == check && f.State == s {
			return f.Found
		}
	}
	return ""
}

func TestDoctor(t *testing.T) {
	nothing := func(plugin.Search) []plugin.Found { return nil }
	a := &App{Open: clitest.WrongOpener, Discover: nothing}
	if status, d := diagnose(t, a); status != ExitOK || !strings.HasPrefix(d.finding("backend cpu", doctor.OK),
		"opens: gnark-crypto") || d.finding("program", doctor.OK) != versions().String() {
		t.Errorf("status %d, %+v", status, d)
	}
	if status, d := diagnose(t, a, "--backend", "cpu,wrong"); status != ExitFailed ||
		!strings.Contains(d.finding("backend wrong", doctor.Failed), "WRONG") {
		t.Errorf("status %d, %+v", status, d)
	}
	if status, d := diagnose(t, a, "--backend", "other"); status != ExitFailed ||
		!strings.Contains(d.finding("backend other", doctor.Failed), "unknown backend") {
		t.Errorf("status %d, %+v", status, d)
	}
	// A plugin that must not be started has failed, if it is wanted.
	bad := func(plugin.Search) []plugin.Found {
		return []plugin.Found{{Name: "cuda", Path: "/x/msm-backend-cuda", Problem: errors.New("others can write")}}
	}
	if status, d := diagnose(t, &App{Open: clitest.WrongOpener, Discover: bad}); status != ExitFailed ||
		d.finding("plugin cuda", doctor.Failed) == "" {
		t.Errorf("status %d, %+v", status, d)
	}
	if status, d := diagnose(t, &App{Open: clitest.WrongOpener, Discover: bad}, "--backend", "cpu"); status != ExitOK ||
		d.finding("plugin cuda", doctor.Note) == "" {
		t.Errorf("status %d, %+v", status, d)
	}
	// What is not installed.
	if status, d := diagnose(t, &App{}, "--backend", "plugin:none"); status != ExitFailed ||
		d.finding("backend plugin:none", doctor.Failed) != "not installed" {
		t.Errorf("status %d, %+v", status, d)
	}
}

func TestDoctorText(t *testing.T) {
	nothing := func(plugin.Search) []plugin.Found { return nil }
	a := &App{Open: clitest.WrongOpener, Discover: nothing}
	status, out, errs := cli(t, a, "doctor", "--curve", "bn254", "--group", "g1")
	if status != ExitOK || errs != "" || !strings.HasSuffix(out, "\nReady.\n") ||
		!strings.Contains(out, "-> nothing but the backend cuda needs") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	if status, out, errs = cli(t, a, "doctor", "--curve", "bn254", "--quiet"); status != ExitOK || out+errs != "" {
		t.Errorf("quiet: status %d, %s%s", status, errs, out)
	}
	status, out, errs = cli(t, a, "doctor", "--curve", "bn254", "--group", "g1", "-q", "--backend", "wrong")
	if status != ExitFailed || strings.Count(out, "\n") != 2 || errs != "msm: not ready\n" {
		t.Errorf("quiet: status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--curve", "bn255"}, {"--format", "json", "--quiet"},
		{"--format", "xml"}, {"--timeout", "soon"}, {"more"}} {
		if status, _, _ := cli(t, a, append([]string{"doctor"}, args...)...); status != ExitUsage {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

// TestDoctorEnds: a backend that does not answer has failed when the time is over.
func TestDoctorEnds(t *testing.T) {
	hangs := func(ctx context.Context, _ string) (backend.Backend, error) {
		<-ctx.Done()
		return nil, backend.Ended(ctx)
	}
	begin := time.Now()
	status, d := diagnose(t, &App{Open: hangs, Discover: func(plugin.Search) []plugin.Found { return nil }},
		"--timeout", "10ms", "--backend", "cpu")
	if status != ExitFailed || !strings.Contains(d.finding("backend cpu", doctor.Failed), "no answer within 10ms (--timeout)") ||
		time.Since(begin) > 20*time.Second {
		t.Errorf("status %d after %v, %+v", status, time.Since(begin), d)
	}
}
