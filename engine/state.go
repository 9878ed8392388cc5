package engine

import "time"

// lifecycle is the state of a slot, and what it follows from. Its methods are the only
// transitions; Engine.mu is held for all of them.
//
//	from      start    ready   failed   retry     suspect  trust   refusing  answers  lost                 retire
//	idle      opening  -       -        -         -        -       -         -        -                    retired
//	opening   -        ready   broken   opening   -        -       -         -        -                    retired
//	ready     -        -       -        -         suspect  -       refusing  -        opening, or broken   retired
//	                                                                                  after many in a row
//	refusing  -        -       -        -         suspect  -       -         ready    as ready             retired
//	suspect   -        -       -        -         -        ready   -         -        as ready             retired
//	broken    -        -       -        opening   -        -       -         -        -                    retired
//	retired   -        -       -        -         -        -       -         -        -                    -
//
// A life of Config.RetryMax ends a row of deaths.
type lifecycle struct {
	state State
	// err is why the slot is refusing, suspect, broken, retired or being opened again.
	err error
	// hope is the time until which calls wait for the slot although there is a next one.
	hope time.Time
	// died is the death that is being repaired, or nil.
	died   error
	deaths int // in a row; a backend that had answered nothing counts as three
}

// mostDeaths is how many deaths in a row are repaired at once. After more, the owner pauses before
// each repair, and calls go elsewhere meanwhile.
const mostDeaths = 5

// start begins the first opening. Calls wait for it until hope.
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

// suspect records that a backend does not answer, and reports whether that is new. Calls that could
// go elsewhere wait for it until hope.
func (l *lifecycle) suspect(err error, hope time.Time) bool {
	if !l.open() {
		return false
	}
	l.state, l.err, l.hope = StateSuspect, err, hope
	return true
}

// trust records that a backend answers, and reports whether it was suspect.
func (l *lifecycle) trust() bool {
	if l.state != StateSuspect {
		return false
	}
	l.state, l.err = StateReady, nil
	return true
}

// open reports whether calls are sent to the backend without waiting.
func (l *lifecycle) open() bool { return l.state == StateReady || l.state == StateRefusing }

// refusing records that a backend refuses calls.
func (l *lifecycle) refusing(err error) {
	if l.state == StateReady {
		l.state, l.err = StateRefusing, err
	}
}

// answers records that a backend has answered a call, and reports whether it was refusing.
func (l *lifecycle) answers() bool {
	if l.state != StateRefusing {
		return false
	}
	l.state, l.err = StateReady, nil
	return true
}

// life says how a backend lived until it died.
type life int

const (
	useless life = iota // it answered nothing
	short               // it answered something
	long                // and lived for Config.RetryMax
)

// lost records the death of a backend that was ready or suspect. If opening it again is promising,
// calls wait for that until hope.
func (l *lifecycle) lost(cause error, lived life, hope time.Time) {
	if !l.open() && l.state != StateSuspect {
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

// retire ends the slot. It returns false if the slot had ended before.
func (l *lifecycle) retire(err error) bool {
	if l.state == StateRetired {
		return false
	}
	l.state, l.err = StateRetired, err
	return true
}

// promising reports whether a backend that died is likely to live if it is opened again at once.
func (l *lifecycle) promising() bool { return l.deaths <= mostDeaths }

// awaited reports whether a call is sent to the slot now or waits for it. more says that another
// slot comes after it.
func (l *lifecycle) awaited(now time.Time, more bool) bool {
	switch l.state {
	case StateIdle, StateReady, StateRefusing:
		return true
	case StateOpening, StateSuspect:
		return !more || now.Before(l.hope)
	}
	return false
}
