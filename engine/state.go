package engine

import "time"

// lifecycle is the state of a slot, and what it follows from. Its methods are the only
// transitions; Engine.mu is held for all of them.
//
//	from      start    ready   failed   retry     suspect  trust   lost                 retire
//	idle      opening  -       -        -         -        -       -                    retired
//	opening   -        ready   broken   opening   -        -       -                    retired
//	ready     -        -       -        -         suspect  -       opening, or broken   retired
//	                                                               after many in a row
//	suspect   -        -       -        -         -        ready   as ready             retired
//	broken    -        -       -        opening   -        -       -                    retired
//	retired   -        -       -        -         -        -       -                    -
//
// In a row are deaths without a long life between them.
type lifecycle struct {
	state State
	// err is why the slot is broken or retired, or is opened again.
	err error
	// hope is until when calls wait for the slot although there is a next one.
	hope time.Time
	// died is the death that is being repaired, nil when none is.
	died   error
	deaths int // in a row, those without an answer counted three times
}

// mostDeaths is how many deaths in a row are repaired at once: after more there are
// pauses, in which calls go elsewhere.
const mostDeaths = 5

// start begins the first opening, for which calls wait until hope.
func (l *lifecycle) start(hope time.Time) {
	if l.state == StateIdle {
		l.state, l.hope = StateOpening, hope
	}
}

// retry begins another opening.
func (l *lifecycle) retry() {
	if l.state == StateBroken {
		l.state = StateOpening
	}
}

// ready ends an opening that succeeded, and returns the death that it repaired.
func (l *lifecycle) ready() (repaired error) {
	if l.state != StateOpening {
		return nil
	}
	repaired = l.died
	l.state, l.err, l.died = StateReady, nil, nil
	return repaired
}

// failed ends an opening that did not succeed.
func (l *lifecycle) failed(err error) {
	if l.state == StateOpening {
		l.state, l.err, l.hope = StateBroken, err, time.Time{}
	}
}

// suspect notes that a backend does not answer, and reports whether that is new; calls
// that could go elsewhere wait until hope for its answer.
func (l *lifecycle) suspect(err error, hope time.Time) bool {
	if l.state != StateReady {
		return false
	}
	l.state, l.err, l.hope = StateSuspect, err, hope
	return true
}

// trust notes that a backend answers, and reports whether it was suspect.
func (l *lifecycle) trust() bool {
	if l.state != StateSuspect {
		return false
	}
	l.state, l.err = StateReady, nil
	return true
}

// life is how a backend lived that died.
type life int

const (
	useless life = iota // it answered nothing
	short               // it answered something
	long                // and lived for Config.RetryMax
)

// lost notes the death of a backend that was ready or suspect. When opening it again is
// promising, calls wait for that until hope.
func (l *lifecycle) lost(cause error, lived life, hope time.Time) {
	if l.state != StateReady && l.state != StateSuspect {
		return
	}
	l.err, l.died = cause, cause
	switch lived {
	case useless:
		l.deaths += 3
	case short:
		l.deaths++
	case long:
		l.deaths = 0
	}
	l.state, l.hope = StateBroken, time.Time{}
	if l.promising() {
		l.state, l.hope = StateOpening, hope
	}
}

// retire ends the slot, and tells whether it had not ended before.
func (l *lifecycle) retire(err error) bool {
	if l.state == StateRetired {
		return false
	}
	l.state, l.err = StateRetired, err
	return true
}

// promising reports whether a backend that died may well live when it is opened again at
// once.
func (l *lifecycle) promising() bool { return l.deaths <= mostDeaths }

// awaited reports whether a call goes to the slot now or waits for it, given that there
// is another slot after it.
func (l *lifecycle) awaited(now time.Time, more bool) bool {
	switch l.state {
	case StateIdle, StateReady:
		return true
	case StateOpening, StateSuspect:
		return !more || now.Before(l.hope)
	}
	return false
}
