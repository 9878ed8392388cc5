package wire

import (
	"strings"
	"testing"
)

// TestProper: a stored message is a job only with its ID, its witness, and prerequisites of the
// same tenant. A job is told how its prerequisites end, so it must not name those of others.
func TestProper(t *testing.T) {
	right := func() Job {
		return Job{ID: "a.1", Witness: Object{Subject: WitnessesPrefix + "a.1"}, After: []string{"a.0"}}
	}
	for name, c := range map[string]struct {
		change func(*Job)
		proper bool
	}{
		"right":                     {func(*Job) {}, true},
		"another's ID":              {func(j *Job) { j.ID = "b.1" }, false},
		"another's witness":         {func(j *Job) { j.Witness.Subject = WitnessesPrefix + "b.1" }, false},
		"after another's job":       {func(j *Job) { j.After = append(j.After, "b.0") }, false},
		"after what is no job":      {func(j *Job) { j.After = []string{"a.>"} }, false},
		"after more than there may": {func(j *Job) { j.After = strings.Split(strings.Repeat("a.0 ", MostPrerequisites)+"a.0", " ") }, false},
	} {
		j := right()
		c.change(&j)
		if j.Proper(QueuePrefix, QueuePrefix+"a.1") != c.proper {
			t.Errorf("%s: want %v", name, c.proper)
		}
	}
}

// TestStreamOf: the stream of a subject is its tenant's, or the one that all share.
func TestStreamOf(t *testing.T) {
	for subject, want := range map[string]string{
		KeysPrefix + "a.d.manifest": "pippin_keys_a", WitnessesPrefix + "a.1.0": "pippin_witnesses_a", QueuePrefix + "a.>": "pippin_queue_a",
		JobsPrefix + "a.1": Jobs, TriesPrefix + "a.1": Tries, NotesPrefix + "ledger": Notes,
	} {
		got := StreamOf(subject)
		kind, tenant := Apart(got)
		if got != want || tenant != "" && Of(kind, tenant) != got || tenant == "" && kind != got {
			t.Errorf("%s is of %s, whose parts are %q and %q", subject, got, kind, tenant)
		}
	}
}
