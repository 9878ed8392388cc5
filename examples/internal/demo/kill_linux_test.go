package demo

import (
	"os/exec"
	"testing"
)

func TestFindChild(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := findChild("sleep")
	if err != nil || pid != cmd.Process.Pid {
		t.Errorf("found %d, %v; want %d", pid, err, cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if pid, err := findChild("sleep"); err == nil {
		t.Errorf("found %d after its end", pid)
	}
	if _, err := KillPlugin("plugin:no-such"); err == nil {
		t.Error("killed a plugin that does not run")
	}
}
