package engine

import (
	"errors"
	"testing"
	"time"
)

// TestLifecycle makes every transition from every state. Those that lifecycle's table does not have
// change nothing.
func TestLifecycle(t *testing.T) {
	hope, cause := time.Unix(100, 0), errors.New("cause")
	in := func(s State) *lifecycle { return &lifecycle{state: s, died: cause, deaths: 0} }
	transitions := map[string]func(*lifecycle){
		"start":        func(l *lifecycle) { l.start(hope) },
		"retry":        func(l *lifecycle) { l.retry() },
		"ready":        func(l *lifecycle) { l.ready() },
		"failed":       func(l *lifecycle) { l.failed(cause) },
		"suspect":      func(l *lifecycle) { l.suspect(cause, hope) },
		"trust":        func(l *lifecycle) { l.trust() },
		"refusing":     func(l *lifecycle) { l.refusing(cause) },
		"answers":      func(l *lifecycle) { l.answers() },
		"lost, proven": func(l *lifecycle) { l.lost(cause, long, hope) },
		"lost":         func(l *lifecycle) { l.lost(cause, useless, hope) },
		"retire":       func(l *lifecycle) { l.retire(cause) },
	}
	for from, row := range map[State]map[string]State{
		StateIdle:    {"start": StateOpening, "retire": StateRetired},
		StateOpening: {"ready": StateReady, "failed": StateBroken, "retire": StateRetired},
		StateReady: {
			"suspect": StateSuspect, "refusing": StateRefusing, "lost": StateOpening, "lost, proven": StateOpening, "retire": StateRetired,
		},
		StateRefusing: {
			"suspect": StateSuspect, "answers": StateReady, "lost": StateOpening, "lost, proven": StateOpening, "retire": StateRetired,
		},
		StateSuspect: {"trust": StateReady, "lost": StateOpening, "lost, proven": StateOpening, "retire": StateRetired},
		StateBroken:  {"retry": StateOpening, "retire": StateRetired},
		StateRetired: {},
	} {
		for name, transition := range transitions {
			want, changes := row[name]
			if !changes {
				want = from
			}
			l := in(from)
			before := *l
			transition(l)
			if l.state != want {
				t.Errorf("%s: %s to %s, want %s", name, from, l.state, want)
			}
			if !changes && *l != before {
				t.Errorf("%s of %s changes %+v to %+v", name, from, before, *l)
			}
		}
	}
}

// TestDeathsInARow: a slot is broken after two deaths without an answer in between, or after six
// short lives. Then calls do not wait for it.
func TestDeathsInARow(t *testing.T) {
	now, cause := time.Unix(100, 0), errors.New("cause")
	hope := now.Add(time.Second)
	l := &lifecycle{state: StateIdle}
	l.start(hope)
	for nth, want := range []State{StateOpening, StateBroken} {
		if repaired := l.ready(); (repaired != nil) != (nth > 0) {
			t.Errorf("opening %d repaired %v", nth, repaired)
		}
		if l.lost(cause, useless, hope); l.state != want || l.awaited(now, true) != (want == StateOpening) {
			t.Errorf("death %d: %s, awaited %v", nth, l.state, l.awaited(now, true))
		}
	}
	if l.retry(); l.awaited(now, true) || !l.awaited(now, false) {
		t.Error("a call waits although there is another slot, or does not although there is none")
	}
	l.ready()
	if l.lost(cause, long, hope); l.state != StateOpening || !l.awaited(now, true) || l.awaited(hope, true) {
		t.Error("a long life does not end the row of deaths")
	}
	for nth := range mostDeaths + 1 {
		l.ready()
		want := StateOpening
		if nth == mostDeaths {
			want = StateBroken
		}
		if l.lost(cause, short, hope); l.state != want {
			t.Errorf("short life %d: %s", nth, l.state)
		}
	}
}
