package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// metricName is the name of a metric in an expression.
var metricName = regexp.MustCompile(`\bpippin_[a-z_]+`)

// What is deployed: for provers, and for clusters.
var deployed = []struct{ board, rules, page string }{
	{"pippin", "pippin", "observe"}, {"pippin-cluster", "pippin-cluster", "cluster"},
}

// documentedMetrics returns the metrics that a page lists. TestConventions, and
// TestDocumented of cmd/msm/internal/clustermetrics, check that it lists all that there are.
func documentedMetrics(t *testing.T, page string) map[string]bool {
	t.Helper()
	doc, err := os.ReadFile("../../docs/howto/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range metricName.FindAllString(string(doc), -1) {
		names[n] = true
	}
	return names
}

// checkMetrics fails the test unless all metrics of an expression are known. It returns their
// number.
func checkMetrics(t *testing.T, known map[string]bool, where, expr string) int {
	t.Helper()
	all := metricName.FindAllString(expr, -1)
	for _, n := range all {
		if n = strings.TrimSuffix(n, "_bucket"); !known[n] {
			t.Errorf("%s: there is no metric %s", where, n)
		}
	}
	return len(all)
}

// TestDashboard checks deploy/grafana: every panel asks for metrics that there are, has a
// unit, and lies over no other.
func TestDashboard(t *testing.T) {
	for _, d := range deployed {
		t.Run(d.board, func(t *testing.T) { checkDashboard(t, d.board, d.page) })
	}
}

func checkDashboard(t *testing.T, name, page string) {
	b, err := os.ReadFile("../../deploy/grafana/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Panels     []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Field   struct{ Defaults struct{ Unit string } } `json:"fieldConfig"`
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	names := documentedMetrics(t, page)
	if board.UID == "" || len(board.Panels) < 10 || len(names) < 20 {
		t.Fatalf("%d panels, %d metrics", len(board.Panels), len(names))
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 || p.Field.Defaults.Unit == "" {
			t.Errorf("%s: %d targets, unit %q", p.Title, len(p.Targets), p.Field.Defaults.Unit)
		}
		for _, target := range p.Targets {
			if checkMetrics(t, names, p.Title, target.Expr) == 0 || !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("%s: %s", p.Title, target.Expr)
			}
		}
		g := p.GridPos
		if g.X+g.W > 24 {
			t.Errorf("%s is wider than the board", p.Title)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestRules checks deploy/prometheus: alerts ask for metrics that there are, and where promtool is they
// fire when they should and not before.
func TestRules(t *testing.T) {
	for _, d := range deployed {
		t.Run(d.rules, func(t *testing.T) { checkRules(t, d.rules, d.page) })
	}
}

func checkRules(t *testing.T, name, page string) {
	b, err := os.ReadFile("../../deploy/prometheus/" + name + ".rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	exprs := regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(b), -1)
	if len(exprs) != strings.Count(string(b), "- alert:") || len(exprs) == 0 {
		t.Fatalf("%d expressions", len(exprs))
	}
	for _, e := range exprs {
		if checkMetrics(t, documentedMetrics(t, page), "rule", e[1]) == 0 {
			t.Errorf("no metric in %s", e[1])
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not here (package prometheus has it): whether the alerts fire was not tried")
	}
	for _, args := range [][]string{
		{"check", "rules", name + ".rules.yml"}, {"test", "rules", name + ".rules.test.yml"}, {"check", "config", "prometheus.yml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
