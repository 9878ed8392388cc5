package engine

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// refusals is what an engine remembers of something that a backend has refused: to load bases, or
// to answer calls about them. generation.mu is held for its methods.
type refusals struct {
	inRow  int
	again  time.Time // a call asks again from then on
	asking bool      // one does
}

// refused decides when a call asks again. Pauses double up to 4 s, so that calls are back soon after
// a shortage. They are at least a hundred times what the refusal took, so that asking takes a
// hundredth of the time, but at most a minute.
func (r *refusals) refused(took time.Duration) {
	const first, most, longest, share = time.Second, 4 * time.Second, time.Minute, 100
	pause := min(first<<min(r.inRow, 8), most)
	r.inRow++
	r.again = time.Now().Add(min(max(pause, share*took), longest))
}

// asks reports whether a call should ask again. One call at a time does; the others go to the next
// backend meanwhile.
func (r *refusals) asks() bool {
	if r.asking || time.Now().Before(r.again) {
		return false
	}
	r.asking = true
	return true
}

// mostRefusals is how many refusals in a row make a backend StateRefusing, and how many of calls about
// the same send the next ones to another backend.
const mostRefusals = 3

// recent is how long after an answer refusals may be those of other calls alone: a backend that has
// answered within this time is not StateRefusing.
const recent = time.Second

// subject says what a call asks for. Calls with the same subject need about the same room, so that a
// refused one says something about the next. Calls about other bases are not put off for it.
type subject struct {
	bases   *Bases // of the first MSM
	element backend.Element
	count   int
}

// refusal is what is remembered of calls with one subject.
type refusal struct {
	refusals
	err error // the last one
}

// mostSubjects bounds what is remembered. Beyond it everything is forgotten, and so asked once more.
const mostSubjects = 256

// refuses reports whether an error means that the backend cannot answer now, neither because of what
// was asked nor because it never can.
func refuses(err error) bool {
	return backend.FaultOf(err) == backend.FaultBackend && !errors.Is(err, backend.ErrUnsupported) &&
		!errors.Is(err, ErrWrongAnswer) && !errors.Is(err, ErrBasesLost)
}

// putOff returns the last refusal if a call should not be sent to g, since calls like it were refused
// several times in a row and it is too early to ask again. With take, a call that may ask does.
func (g *generation) putOff(c *call, take bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.subjects[c.subject]
	switch {
	case r == nil, r.inRow < mostRefusals:
		return nil
	case !take && !r.asking && !time.Now().Before(r.again):
		return nil
	case take && r.asks():
		c.asking = r
		return nil
	}
	return r.err
}

// asked ends the asking of a call, if it was the one that asked.
func (g *generation) asked(c *call) {
	if c.asking == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.asking.asking = false
	c.asking = nil
}

// remember notes how a call that took some time ended on g. It reports whether that is news: a refusal
// like the last one is not.
func (g *generation) remember(c *call, took time.Duration, err error) (news bool) {
	if c.subject == (subject{}) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.subjects[c.subject]
	switch {
	case err == nil:
		delete(g.subjects, c.subject)
		return true
	case backend.FaultOf(err) != backend.FaultBackend:
		return true
	case r == nil && len(g.subjects) >= mostSubjects:
		clear(g.subjects)
		fallthrough
	case r == nil:
		r = &refusal{}
		g.subjects[c.subject] = r
	}
	news = r.inRow == 0 || reasonOf(r.err) != reasonOf(err)
	r.err = err
	if load := (noRoom{}); refuses(err) && !errors.As(err, &load) {
		r.refused(took)
	} else {
		r.inRow = 1 // to be refused again costs nothing; ensure decides when bases are loaded again
	}
	return news
}

// dropSubjects forgets the refusals of calls about bases that are closed.
func (g *generation) dropSubjects(b *Bases) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.subjects, func(s subject, _ *refusal) bool { return s.bases == b })
}

// outcomeLocked counts refusals in a row. After several a backend is StateRefusing until it answers.
func (g *generation) outcomeLocked(ctx context.Context, err error) {
	switch s := g.slot; {
	case err == nil:
		g.refusedInRow, g.answered = 0, time.Now()
		if s.gen == g && s.answers() {
			s.returnedLocked()
			s.e.changedLocked()
		}
	case ctx.Err() == nil && refuses(err):
		g.refusedInRow++
		if g.refusedInRow >= mostRefusals && time.Since(g.answered) >= recent && s.gen == g {
			s.refusing(err)
		}
	}
}

// Reason says why another backend answered a call than the preferred one.
type Reason string

// The reasons.
const (
	ReasonGone        Reason = "gone"         // it had died, or was being opened
	ReasonSilent      Reason = "silent"       // it answered neither the call nor a ping
	ReasonMemory      Reason = "memory"       // it had no room
	ReasonFailed      Reason = "failed"       // it had a fault of another kind
	ReasonUnsupported Reason = "unsupported"  // it has no such computation
	ReasonWrong       Reason = "wrong_answer" // it gave one, now or before
	ReasonBases       Reason = "bases"        // it does not hold bases that were to be read once
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{ReasonGone, ReasonSilent, ReasonMemory, ReasonFailed, ReasonUnsupported, ReasonWrong, ReasonBases}
}

// reasonOf returns the reason that an error of a backend is.
func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, ErrWrongAnswer):
		return ReasonWrong
	case errors.Is(err, ErrBasesLost):
		return ReasonBases
	case errors.Is(err, errSilent):
		return ReasonSilent
	case isGone(err):
		return ReasonGone
	case errors.Is(err, backend.ErrOutOfMemory):
		return ReasonMemory
	case errors.Is(err, backend.ErrUnsupported):
		return ReasonUnsupported
	}
	return ReasonFailed
}

// reasonLocked returns why the preferred backend has not answered a call.
func (e *Engine) reasonLocked(c *call) Reason {
	s := e.slots[0]
	for _, f := range c.failures {
		if f.slot == s {
			return reasonOf(f.err)
		}
	}
	switch {
	case s.state == StateRetired:
		return ReasonWrong
	case s.state == StateSuspect:
		return ReasonSilent
	case c.unableLocked(s) != nil:
		return ReasonUnsupported
	case s.gen != nil && c.fits != nil && !c.fits(s.gen):
		return ReasonBases
	}
	return ReasonGone
}
