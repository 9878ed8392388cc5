package cluster_test

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// trail is what all processes said about jobs, in the files of a folder.
type trail struct{ dir string }

// of returns what was said about a job, ordered by time.
func (l trail) of(id string) string {
	files, err := filepath.Glob(filepath.Join(l.dir, "*.log"))
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err.Error()
		}
		from := strings.TrimSuffix(filepath.Base(path), ".log")
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if line := lines.Text(); strings.Contains(line+" ", " job="+id+" ") {
				all = append(all, line+" by="+from)
			}
		}
		f.Close()
	}
	slices.Sort(all) // each line begins with its time
	return "\n\t" + strings.Join(all, "\n\t")
}

// said is one line of a process.
type said struct {
	at       time.Time
	by       string // name of its file, without .log
	message  string
	job      string // the job that it is about
	what, to string // of the storm's lines
	nth      int    // number of the delivery among those of the job's message
	delivery int    // number of the delivery among all of the consumer
}

// field returns the value of a field in a line, without quotes.
func field(line, key string) string {
	_, rest, has := strings.Cut(line, " "+key+"=")
	if !has {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		text, _ := strconv.Unquote(quoted)
		return text
	}
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// all returns the lines that a filter passes, ordered by time.
func (l trail) all(keep func(said) bool) (lines []said, err error) {
	files, err := filepath.Glob(filepath.Join(l.dir, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		for text := bufio.NewScanner(f); text.Scan(); {
			line := " " + text.Text()
			s := said{by: strings.TrimSuffix(filepath.Base(path), ".log"), message: field(line, "msg"), job: field(line, "job")}
			s.what, s.to = field(line, "what"), field(line, "to")
			s.nth, _ = strconv.Atoi(field(line, "nth"))
			s.delivery, _ = strconv.Atoi(field(line, "delivery"))
			if s.at, err = time.Parse(time.RFC3339Nano, field(line, "time")); err == nil && keep(s) {
				lines = append(lines, s)
			}
		}
		f.Close()
	}
	slices.SortStableFunc(lines, func(a, b said) int { return a.at.Compare(b.at) })
	return lines, nil
}

// What processes say about jobs, and the storm about processes.
const (
	saysInHand = "cluster: a job is in hand"
	saysBack   = "cluster: a job is given back"
	saysFailed = "cluster: a try failed"
	saysLost   = "cluster: a job was lost on its way to the workers and is handed out again"
	saysAnew   = "cluster: jobs wait and none is handed out; the consumer is made anew"
	saysStorm  = "storm"
)

// An event explains a job's new delivery only for this long. A killed worker has its jobs for
// AckWait; a server that was killed, or whose disk was filled, is missed for longer.
const (
	afterWorker = 15 * time.Second
	afterServer = 20 * time.Second
)

// explain counts the repeated deliveries of jobs by what caused them.
func (l trail) explain(t *testing.T, f *figure) {
	t.Helper()
	lines, err := l.all(func(s said) bool {
		return slices.Contains([]string{saysInHand, saysBack, saysFailed, saysLost, saysAnew, saysStorm}, s.message)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Redelivered, f.Unexplained, f.Lost = map[string]int{}, new(int), new(int)
	var events []said
	before := map[string][]said{} // what was said about each job
	for _, s := range lines {
		switch s.message {
		case saysStorm, saysAnew:
			events = append(events, s)
			continue
		case saysLost:
			*f.Lost++
			t.Errorf("job %s was lost%s", s.job, l.of(s.job))
		case saysInHand:
			if s.nth < 2 && !slices.ContainsFunc(before[s.job], func(b said) bool { return b.message == saysInHand }) {
				break
			}
			if why := reason(s, before[s.job], events); why != "" {
				f.Redelivered[why]++
			} else {
				*f.Unexplained++
				t.Errorf("job %s came to %s once more without a reason%s", s.job, s.by, l.of(s.job))
			}
		}
		before[s.job] = append(before[s.job], s)
	}
}

// reason returns why a job came to a worker once more, or "" if no known event may have caused it.
func reason(now said, before, events []said) string {
	since := time.Time{} // when the worker before had it
	holder := ""
	for _, b := range before {
		if b.message == saysInHand && b.delivery > now.delivery && now.nth == 1 {
			return "in hand late: another delivery was first"
		}
		switch b.message {
		case saysBack, saysFailed:
			if b.at.After(since) {
				since, holder = b.at, ""
			}
		case saysInHand:
			since, holder = b.at, b.by
		}
	}
	if holder == "" && !since.IsZero() {
		return "given back"
	}
	perhaps := ""
	for _, e := range slices.Backward(events) {
		age := now.at.Sub(e.at)
		switch {
		case holder != "" && e.to == holder && e.at.After(since.Add(-time.Second)):
			return "in hand: " + e.what
		case e.message == saysAnew && age < afterServer:
			return "the consumer was made anew"
		case strings.HasPrefix(e.to, "server") && age < afterServer:
			perhaps = cmp.Or(perhaps, "acknowledgements or deliveries on their way: "+e.what)
		case strings.HasPrefix(e.to, "worker") && holder == "" && age < afterWorker:
			perhaps = cmp.Or(perhaps, "on its way to a worker: "+e.what)
		}
	}
	return perhaps
}

// TestReasons: an event that hit a job's worker or a server explains a new delivery of the job. An
// event long ago, or one that hit another worker, does not.
func TestReasons(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	storm := func(second int, what, to string) []said {
		return []said{{at: at(second), message: saysStorm, what: what, to: to}}
	}
	inHand := said{at: at(100), by: "worker-1", message: saysInHand}
	now := said{at: at(110), by: "worker-2", message: saysInHand, nth: 2}
	for name, c := range map[string]struct {
		before, events []said
		want           string
	}{
		"nothing happened":          {[]said{inHand}, nil, ""},
		"its worker was killed":     {[]said{inHand}, storm(101, "worker killed", "worker-1"), "in hand: worker killed"},
		"it had been killed before": {[]said{inHand}, storm(90, "worker killed", "worker-1"), ""},
		"another one was killed":    {[]said{inHand}, storm(101, "worker killed", "worker-3"), ""},
		"nobody had it in hand, and a worker was killed": {
			nil, storm(101, "worker killed", "worker-3"), "on its way to a worker: worker killed",
		},
		"a server was killed": {
			[]said{inHand}, storm(95, "server killed", "server-a"),
			"acknowledgements or deliveries on their way: server killed",
		},
		"a server was killed long ago": {[]said{inHand}, storm(80, "server killed", "server-a"), ""},
		"given back":                   {[]said{inHand, {at: at(105), by: "worker-1", message: saysBack}}, nil, "given back"},
	} {
		if got := reason(now, c.before, c.events); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	first := said{at: at(110), by: "worker-1", message: saysInHand, nth: 1, delivery: 8}
	second := said{at: at(105), by: "worker-3", message: saysInHand, nth: 2, delivery: 9}
	if got := reason(first, []said{second}, nil); got != "in hand late: another delivery was first" {
		t.Errorf("a delivery that its worker took up after the next one: %q", got)
	}
}
