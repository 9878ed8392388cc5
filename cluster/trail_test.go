package cluster_test

import (
	"bufio"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
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
	job      string    // the job that it is about
	what, to string    // of the storm's lines
	problem  string    // "<nil>" if there is none
	nth      int       // number of the delivery among those of the job's message
	delivery int       // number of the delivery among all of the consumer
	priority int       // of a job that is sent
	deadline time.Time // of a job that is sent; the zero time if it has none
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
			s.what, s.to, s.problem = field(line, "what"), field(line, "to"), field(line, "problem")
			s.nth, _ = strconv.Atoi(field(line, "nth"))
			s.delivery, _ = strconv.Atoi(field(line, "delivery"))
			s.priority, _ = strconv.Atoi(field(line, "priority"))
			s.deadline, _ = time.Parse(time.RFC3339Nano, field(line, "deadline"))
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
	saysSent   = "sent"
	saysHeard  = "heard"
	saysOut    = "cluster: a job is handed out"
	saysInHand = "cluster: a job is in hand"
	saysAcked  = "cluster: a job is acknowledged"
	saysBack   = "cluster: a job is given back"
	saysFailed = "cluster: a try failed"
	saysLost   = "cluster: a job was lost on its way to the workers and is handed out again"
	saysNone   = "cluster: the server has no answer when asked for a job"
	saysAnew   = "cluster: jobs wait and none is handed out; the consumer is made anew"
	saysStorm  = "storm" // what was done to a process
	saysAgree  = "storm: the servers agree"
	saysRage   = "storm: the hostile tenant begins"
	saysCalm   = "storm: the hostile tenant ends"
)

// span is a time in which messages may be lost or late because of what was done to a process.
type span struct {
	from, to time.Time
	what     string
	victim   string
}

// meets reports whether a span and the time between two moments have a moment in common.
func (s span) meets(from, to time.Time) bool { return !s.from.After(to) && !s.to.Before(from) }

// What is done to a worker can lose messages for as long as its request for a job may be open, and a
// worker that is stopped takes what comes meanwhile. After the servers agree again a manager takes
// the lead, and what was lost comes again after AckWait: meanwhile jobs may be late.
const (
	afterWorker = 3 * time.Second
	whileStops  = 5 * time.Second
	afterServer = 10 * time.Second
)

// noAnswer is how long a worker waits for an answer to its request for a job.
const noAnswer = 2 * time.Second

// spans returns the times in which messages may be lost, from lines that are ordered by time. For a
// server this is until the servers agree again.
func spans(lines []said) (all []span) {
	for i, s := range lines {
		switch {
		case s.message == saysAnew:
			all = append(all, span{s.at, s.at.Add(wire.AckWait), "the consumer is made anew", "server"})
		case s.message == saysNone: // it has waited for two beats
			all = append(all, span{s.at.Add(-noAnswer), s.at, "its worker's request had no answer", "request"})
		case s.message != saysStorm:
		case strings.HasPrefix(s.to, "worker"):
			to := s.at.Add(afterWorker)
			if s.what == "worker stops" {
				to = to.Add(whileStops)
			}
			all = append(all, span{s.at, to, s.what, s.to})
		default:
			to := lines[len(lines)-1].at
			if n := slices.IndexFunc(lines[i:], func(s said) bool { return s.message == saysAgree }); n >= 0 {
				to = lines[i+n].at
			}
			all = append(all, span{s.at, to, s.what, s.to})
		}
	}
	return all
}

// explain counts the repeated deliveries of jobs by what caused them.
func (l trail) explain(t *testing.T, f *figure) {
	t.Helper()
	lines, err := l.all(func(s said) bool {
		return slices.Contains([]string{
			saysOut, saysInHand, saysAcked, saysBack, saysFailed, saysLost, saysNone, saysAnew, saysStorm, saysAgree,
		}, s.message)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Redelivered, f.Unexplained, f.Lost = map[string]int{}, new(int), new(int)
	hits := spans(lines)
	// A manager says that it has handed a job out when it knows that. A worker may have it before.
	for i := range lines {
		if lines[i].message == saysOut {
			lines[i].at = lines[i].at.Add(-time.Second / 2)
		}
	}
	slices.SortStableFunc(lines, func(a, b said) int { return a.at.Compare(b.at) })
	before := map[string][]said{} // what was said about each job
	for _, s := range lines {
		switch s.message {
		case saysStorm, saysAgree, saysNone, saysAnew:
			continue
		case saysLost:
			*f.Lost++
			t.Errorf("job %s was lost%s", s.job, l.of(s.job))
		case saysInHand:
			if s.nth < 2 && !slices.ContainsFunc(before[s.job], func(b said) bool { return b.message == saysInHand }) {
				break
			}
			if why := reason(s, before[s.job], hits); why != "" {
				f.Redelivered[why]++
			} else {
				*f.Unexplained++
				t.Errorf("job %s came to %s once more without a reason%s", s.job, s.by, l.of(s.job))
			}
		}
		before[s.job] = append(before[s.job], s)
	}
	f.ByChance = byChance(before, hits)
}

// byChance returns for which part of the jobs that came to one worker, once, a reason would have
// been found if they had come once more. The reasons of those that did say little if it is near 1.
func byChance(jobs map[string][]said, hits []span) float64 {
	once, found := 0, 0
	for _, lines := range jobs {
		held := slices.IndexFunc(lines, func(s said) bool { return s.message == saysInHand })
		if held < 0 || lines[len(lines)-1].message != saysAcked || lines[len(lines)-1].by != lines[held].by {
			continue
		}
		once++
		now := said{at: lines[len(lines)-1].at.Add(wire.AckWait), nth: 2}
		if reason(now, lines, hits) != "" {
			found++
		}
	}
	return math.Round(1e3*float64(found)/float64(max(1, once))) / 1e3
}

// reason returns why a job came to a worker once more, or "" if nothing that was done to a process
// can have caused it. It looks at how far the delivery before had come.
func reason(now said, before []said, hits []span) string {
	hit := func(kind string, from, to time.Time) string {
		for _, h := range slices.Backward(hits) {
			if strings.HasPrefix(h.victim, kind) && h.meets(from, to) {
				return h.what
			}
		}
		return ""
	}
	if by := managers(before); len(by) > 1 {
		return "two managers led"
	}
	if len(before) == 0 { // whoever handed it out ended before he said so
		before = []said{{at: now.at.Add(-wire.AckWait - time.Second), message: saysOut}}
	}
	acknowledged := map[string]bool{} // by worker
	held := false
	for i, b := range slices.Backward(before) {
		state, by := "", b.by
		// What is done to a process takes effect about when it is said.
		from, to := b.at.Add(-time.Second), now.at
		switch b.message {
		case saysBack, saysFailed:
			if i == len(before)-1 {
				return "given back"
			}
			return ""
		case saysAcked:
			acknowledged[b.by] = true
			state, to = "its acknowledgement was on the way", b.at.Add(time.Second)
		case saysInHand:
			if held = true; b.delivery > now.delivery && now.nth == 1 {
				return "in hand late: another delivery was first"
			}
			if acknowledged[b.by] {
				continue
			}
			state = "in hand"
		case saysOut:
			if held {
				continue
			}
			state, by = "on its way to a worker", "worker"
			if lost := hit("request", b.at, now.at.Add(-wire.AckWait)); lost != "" && hit("server", from, to) == "" {
				return state + ": " + lost
			}
		default:
			continue
		}
		if what := cmp.Or(hit(by, from, to), hit("server", from, to)); what != "" {
			return state + ": " + what
		}
	}
	return ""
}

// managers returns the servers whose managers have handed out a job.
func managers(lines []said) map[string]bool {
	by := map[string]bool{}
	for _, s := range lines {
		if s.message == saysOut {
			by[s.by] = true
		}
	}
	return by
}

// wait is a job of a tenant, from when it was sent to when its end was heard.
type wait struct {
	job         string
	tenant      string
	sent, heard time.Time
	priority    int
	deadline    time.Time // the zero time if it has none
	proved      bool      // else it was cancelled or too late, and not in its turn
}

// goesBefore reports whether a job's own queue has it before another one of the same tenant that
// was sent later.
func (w wait) goesBefore(later wait) bool {
	switch {
	case w.priority != later.priority:
		return w.priority > later.priority
	case w.deadline.IsZero():
		return later.deadline.IsZero()
	}
	return later.deadline.IsZero() || !later.deadline.Before(w.deadline)
}

// patience is how long a job may wait for others than those before it in its own queue: for a
// processor, or for a job that began earlier and is slower.
const patience = 3 * time.Second

// undisturbed returns how much of the time between two moments is in no span of a server, nor soon
// after one.
func undisturbed(from, to time.Time, hits []span) time.Duration {
	rest := to.Sub(from)
	at := from               // up to here all is counted
	for _, h := range hits { // ordered by from
		h.to = h.to.Add(afterServer)
		if !strings.HasPrefix(h.victim, "server") || !h.meets(at, to) {
			continue
		}
		end := h.to
		if end.After(to) {
			end = to
		}
		begin := h.from
		if begin.Before(at) {
			begin = at
		}
		if end.After(begin) {
			rest -= end.Sub(begin)
			at = end
		}
	}
	return rest
}

// standstill is a time in which no job of a tenant ended.
type standstill struct{ from, to time.Time }

// standstills returns the times between the ends of a tenant's jobs, which are ordered by end.
func standstills(jobs []wait) (all []standstill) {
	for i := 1; i < len(jobs); i++ {
		all = append(all, standstill{jobs[i-1].heard, jobs[i].heard})
	}
	return all
}

// beyond returns the jobs of one tenant that waited longer than their own queue explains, each with
// how long. Either no job of the tenant ended for that time, or jobs ended that come after it in
// the queue. Time in which servers were disturbed does not count, nor do jobs that came to a worker
// more than once, whose reason is another question.
func beyond(jobs []wait, hits []span, again map[string]bool) map[string]time.Duration {
	slices.SortFunc(jobs, func(a, b wait) int { return a.heard.Compare(b.heard) })
	late := map[string]time.Duration{}
	note := func(job string, by time.Duration) {
		if by > patience && !again[job] {
			late[job] = max(late[job], by)
		}
	}
	for _, s := range standstills(jobs) {
		if s.to.Sub(s.from) <= patience {
			continue
		}
		by := undisturbed(s.from, s.to, hits)
		for _, w := range jobs {
			if !w.sent.After(s.from) && !w.heard.Before(s.to) {
				note(w.job, by)
			}
		}
	}
	for i, w := range jobs {
		for _, other := range jobs[:i] { // those that ended before
			if w.heard.Sub(other.heard) <= patience {
				break
			}
			if other.proved && other.sent.After(w.sent) && w.goesBefore(other) {
				note(w.job, undisturbed(other.heard, w.heard, hits))
				break
			}
		}
	}
	return late
}

// lateness notes which jobs waited longer than their own queue explains, and how long each tenant's
// jobs stood still, beside the hostile tenant and without it. tenants has the names of those that
// are looked at, by tenant.
func (l trail) lateness(t *testing.T, f *figure, tenants map[string]string) {
	t.Helper()
	lines, err := l.all(func(s said) bool {
		return slices.Contains([]string{saysSent, saysHeard, saysInHand, saysAnew, saysStorm, saysAgree, saysRage, saysCalm}, s.message)
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs, of, again, rages := map[string][]wait{}, map[string]*wait{}, map[string]bool{}, []span(nil)
	for _, s := range lines {
		switch s.message {
		case saysSent:
			of[s.job] = &wait{job: s.job, tenant: wire.TenantOfJob(s.job), sent: s.at, priority: s.priority, deadline: s.deadline}
		case saysHeard:
			if w := of[s.job]; w != nil {
				w.heard, w.proved = s.at, s.problem == "<nil>"
				jobs[w.tenant] = append(jobs[w.tenant], *w)
			}
		case saysInHand:
			again[s.job] = again[s.job] || s.nth > 1
		case saysRage:
			rages = append(rages, span{from: s.at, to: lines[len(lines)-1].at})
		case saysCalm:
			rages[len(rages)-1].to = s.at
		}
	}
	hits := spans(lines)
	f.Beyond, f.Standstills = new(int), map[string]float64{}
	for tenant, name := range tenants {
		for job, by := range beyond(jobs[tenant], hits, again) {
			*f.Beyond++
			t.Errorf("%s's job %s waited %v longer than its own queue explains%s", name, job, by, l.of(job))
		}
		for _, s := range standstills(jobs[tenant]) {
			k := "servers undisturbed"
			if undisturbed(s.from, s.to, hits) < s.to.Sub(s.from) {
				k = "servers disturbed"
			}
			if slices.ContainsFunc(rages, func(r span) bool { return r.meets(s.from, s.to) }) {
				k += beside
			}
			f.Standstills[k] = max(f.Standstills[k], float64(s.to.Sub(s.from).Milliseconds()))
		}
	}
}

// beside ends a key of Waits for times at which the hostile tenant was active.
const beside = ", beside a hostile tenant"

// TestReasons: what hit a job's worker or a server while the job's delivery was on its way, in hand
// or being acknowledged explains a new delivery of the job. What happened long ago, or to another
// worker, does not.
func TestReasons(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	storm := func(second int, what, to string) []span {
		return spans([]said{{at: at(second), message: saysStorm, what: what, to: to}, {at: at(second + 2), message: saysAgree}})
	}
	out := said{at: at(99), by: "server-a", message: saysOut}
	inHand := said{at: at(100), by: "worker-1", message: saysInHand, nth: 1, delivery: 5}
	acked := said{at: at(102), by: "worker-1", message: saysAcked}
	back := said{at: at(102), by: "worker-1", message: saysBack}
	second := said{at: at(105), by: "worker-3", message: saysInHand, nth: 2, delivery: 9}
	now := said{at: at(107), by: "worker-2", message: saysInHand, nth: 2, delivery: 10}
	for name, c := range map[string]struct {
		before []said
		hits   []span
		want   string
	}{
		"nothing happened":                 {[]said{out, inHand}, nil, ""},
		"its worker was killed":            {[]said{out, inHand}, storm(101, "worker killed", "worker-1"), "in hand: worker killed"},
		"it had been killed before":        {[]said{out, inHand}, storm(90, "worker killed", "worker-1"), ""},
		"another one was killed":           {[]said{out, inHand}, storm(101, "worker killed", "worker-3"), ""},
		"nobody had it":                    {[]said{out}, storm(101, "worker killed", "worker-3"), "on its way to a worker: worker killed"},
		"nobody had it, and nothing was":   {[]said{out}, storm(90, "worker killed", "worker-3"), ""},
		"sent to a worker that is stopped": {[]said{out}, storm(93, "worker stops", "worker-3"), "on its way to a worker: worker stops"},
		"a server was killed":              {[]said{out, inHand}, storm(98, "server killed", "server-a"), "in hand: server killed"},
		"the servers agree again":          {[]said{out, inHand}, storm(95, "server killed", "server-a"), ""},
		"two managers have handed it out":  {[]said{out, {by: "server-b", message: saysOut}, inHand, acked}, nil, "two managers led"},
		"its worker's request had no answer": {
			[]said{out}, spans([]said{{at: at(101), message: saysNone}}), "on its way to a worker: its worker's request had no answer",
		},
		"an earlier request had no answer":         {[]said{out}, spans([]said{{at: at(98), message: saysNone}}), ""},
		"given back":                               {[]said{out, inHand, back}, nil, "given back"},
		"its manager was killed before it said so": {nil, storm(104, "server killed", "server-a"), "on its way to a worker: server killed"},
		"given back long before":                   {[]said{out, inHand, back, second}, storm(101, "worker killed", "worker-1"), ""},
		"acknowledged":                             {[]said{out, inHand, acked}, storm(105, "worker killed", "worker-1"), ""},
		"acknowledged and killed at once": {
			[]said{out, inHand, acked}, storm(102, "worker killed", "worker-1"), "its acknowledgement was on the way: worker killed",
		},
		"acknowledged to a server that is killed": {
			[]said{out, inHand, acked}, storm(103, "server killed", "server-b"), "its acknowledgement was on the way: server killed",
		},
		"acknowledged long before": {[]said{out, inHand, acked}, storm(104, "server killed", "server-b"), ""},
		"the one before the last still has it": {
			[]said{out, inHand, second}, storm(101, "worker stops", "worker-1"), "in hand: worker stops",
		},
	} {
		if got := reason(now, c.before, c.hits); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	first := said{at: at(110), by: "worker-1", message: saysInHand, nth: 1, delivery: 8}
	if got := reason(first, []said{out, second}, nil); got != "in hand late: another delivery was first" {
		t.Errorf("a delivery that its worker took up after the next one: %q", got)
	}
	later := said{at: at(200), by: "worker-1", message: saysInHand}
	jobs := map[string][]said{
		"a": {out, inHand, acked}, "b": {out, inHand}, "c": {later, {at: at(201), by: "worker-1", message: saysAcked}},
	}
	if got := byChance(jobs, storm(103, "server killed", "server-b")); got != 0.5 {
		t.Errorf("%v of the jobs would have had a reason by chance, want half of the two that were acknowledged", got)
	}
}

// TestBeyond: a job is late beyond its own queue if its tenant stands still, or if jobs that come
// after it end before it, for longer than a processor may be away. It is not late behind jobs that
// come before it, while servers are disturbed, or if it came to a worker once more.
func TestBeyond(t *testing.T) {
	at := func(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }
	// Twenty jobs are sent together, and one ends each second.
	queue := func(change func(i int, w *wait)) (all []wait) {
		for i := range 20 {
			w := wait{job: strconv.Itoa(i), proved: true, sent: at(float64(i) / 100), heard: at(float64(1 + i))}
			change(i, &w)
			all = append(all, w)
		}
		return all
	}
	down := func(from, to float64) []span {
		return []span{{at(from), at(to).Add(-afterServer), "server killed", "server-a"}}
	}
	for name, c := range map[string]struct {
		jobs  []wait
		hits  []span
		again map[string]bool
		late  int
	}{
		"each in its turn": {queue(func(int, *wait) {}), nil, nil, 0},
		"all but five stand still for ten seconds": {queue(func(i int, w *wait) {
			if i >= 5 {
				w.heard = w.heard.Add(10 * time.Second)
			}
		}), nil, nil, 15},
		"a server was away for as long": {queue(func(i int, w *wait) {
			if i >= 5 {
				w.heard = w.heard.Add(10 * time.Second)
			}
		}), down(5.5, 14.5), nil, 0},
		"it was away for some of it": {queue(func(i int, w *wait) {
			if i >= 5 {
				w.heard = w.heard.Add(10 * time.Second)
			}
		}), down(5.5, 7), nil, 15},
		"the fourth is overtaken": {queue(func(i int, w *wait) {
			if i == 3 {
				w.heard = at(15.5)
			}
		}), nil, nil, 1},
		"the fourth is overtaken and came once more": {queue(func(i int, w *wait) {
			if i == 3 {
				w.heard = at(15.5)
			}
		}), nil, map[string]bool{"3": true}, 0},
		"the fourth is overtaken by those that are cancelled": {queue(func(i int, w *wait) {
			if w.proved = false; i == 3 {
				w.heard = at(15.5)
			}
		}), nil, nil, 0},
		"the fourth is overtaken by urgent ones": {queue(func(i int, w *wait) {
			if w.priority = 5; i == 3 {
				w.priority, w.heard = 0, at(15.5)
			}
		}), nil, nil, 0},
		"the fourth is overtaken by those with a deadline": {queue(func(i int, w *wait) {
			if w.deadline = at(100); i == 3 {
				w.deadline, w.heard = time.Time{}, at(15.5)
			}
		}), nil, nil, 0},
	} {
		if late := beyond(c.jobs, c.hits, c.again); len(late) != c.late {
			t.Errorf("%s: %v are late, want %d", name, late, c.late)
		}
	}
}
