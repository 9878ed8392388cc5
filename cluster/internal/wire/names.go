// Package wire is what the client, the workers and the server of a cluster agree
// on: the names of streams and subjects, the messages, how objects lie in streams,
// how witnesses are sealed, and how one connects. docs/adr/0025 says why.
package wire

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/pippin-zk/pippin/backend"
)

// The streams that all tenants share, which only managers and workers write.
const (
	Jobs  = "pippin_jobs"  // jobs whose turn it is, until they are acknowledged
	Tries = "pippin_tries" // how often jobs were begun and failed
	Notes = "pippin_notes" // what managers know: who leads, what clients have used
)

// The kinds of streams that each tenant has for itself. Of names a tenant's is the last part.
const (
	Queue     = "pippin_queue"     // descriptors of jobs that have not ended
	Ends      = "pippin_ends"      // one message a job: its proof, or why there is none
	Dead      = "pippin_dead"      // jobs that ended without a proof, for people
	Keys      = "pippin_keys"      // circuits and keys, by digest
	Witnesses = "pippin_witnesses" // sealed, until their job has ended
)

// kinds are those of a tenant's streams.
var kinds = []string{Queue, Ends, Dead, Keys, Witnesses}

// Of returns the name of a tenant's stream.
func Of(kind, tenant string) string { return kind + "_" + tenant }

// Apart returns the kind and the tenant of a stream's name. The tenant is empty if all share
// the stream.
func Apart(stream string) (kind, tenant string) {
	for _, kind := range kinds {
		if tenant, is := strings.CutPrefix(stream, kind+"_"); is {
			return kind, tenant
		}
	}
	return stream, ""
}

// StreamOf returns the name of the stream that has the messages of a subject.
func StreamOf(subject string) string {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(subject, Prefix), ".")
	name := "pippin_" + kind
	if slices.Contains(kinds, name) {
		name = Of(name, TenantOfJob(rest))
	}
	return name
}

// Prefix begins all subjects of a cluster.
const Prefix = "pippin."

// The subjects. What follows the prefix is a job's ID, which begins with its tenant, or
// a worker's name.
const (
	QueuePrefix     = "pippin.queue."
	JobsPrefix      = "pippin.jobs."
	EndsPrefix      = "pippin.ends."
	EndedPrefix     = "pippin.ended." // an end, told again once it is stored
	TriesPrefix     = "pippin.tries."
	DeadPrefix      = "pippin.dead."
	KeysPrefix      = "pippin.keys." // TENANT.DIGEST
	WitnessesPrefix = "pippin.witnesses."
	ForgetPrefix    = "pippin.forget." // asks the manager to remove what a client stored, or has taken
	CancelPrefix    = "pippin.cancel." // asks managers to end a job
	StopPrefix      = "pippin.stop."   // a manager tells workers that nobody wants a job any more
	NotesPrefix     = "pippin.notes."
	HelloPrefix     = "pippin.hello."  // a manager answers a client with its Hello; the tenant follows
	StatusPrefix    = "pippin.status." // the manager that leads answers with the Status of the tenant that follows
	HoldsPrefix     = "pippin.holds."  // a manager answers whether there is a message of the subject that follows
	AnswerPrefix    = "pippin.answer." // where managers and administrators have workers answer

	Hello  = "pippin.hello"  // a manager answers a worker with its Hello
	Status = "pippin.status" // the manager that leads answers an administrator with what only it knows
	Who    = "pippin.who"    // every worker answers with its State, with .NAME one
	Here   = "pippin.here"   // a worker that begins says its State
	Roster = "pippin.roster" // managers answer with the States of the workers they have heard of lately
	Drain  = "pippin.drain"  // all workers, or with .NAME one
)

// WorkerPrefix begins the names of workers' connections, which the worker's ends.
const WorkerPrefix = "pippin worker "

// Workers is the consumer of Jobs that all workers share.
const Workers = "workers"

// AckWait is how long a job belongs to a worker that says nothing. Workers speak
// four times as often.
const AckWait = 3 * time.Second

// MaxEnd is the most bytes of a proof.
const MaxEnd = 512 << 10

// dedup is how long a repeated publication is known as one.
const dedup = 2 * time.Minute

// Bounds of what one tenant may have beside bytes, since each message takes memory too.
const (
	mostJobs  = 100_000   // in the queue
	mostQueue = 256 << 20 // bytes of the queue, which managers have in memory
	mostParts = 1_000_000 // of witnesses, and of keys
)

// mostFree is the most bytes of what a client may choose freely in a descriptor: traces, mostly.
const mostFree = 4 << 10

// MostDescriptor is the most bytes of a job's descriptor.
const MostDescriptor = 192 << 10

// Shared returns the configurations of the streams that all tenants share. No message expires by
// age: a clock that jumps would delete jobs. All streams of a cluster together may take room
// bytes, or all that the server has if room is 0. Each has this number of replicas, each on
// another server.
func Shared(room int64, replicas int) []jetstream.StreamConfig {
	jobs := file(Jobs, JobsPrefix, part(room, 2), replicas)
	jobs.Retention = jetstream.WorkQueuePolicy
	tries := file(Tries, TriesPrefix, part(room, 1), replicas)
	tries.Discard, tries.MaxMsgsPerSubject = jetstream.DiscardOld, 1
	if replicas == 1 {
		// Of several servers each would begin with an empty log after a restart, and its vote
		// would count only when it had caught up: with the next one away there was no leader.
		tries.Storage, tries.MaxBytes = jetstream.MemoryStorage, 64<<20
	}
	notes := file(Notes, NotesPrefix, part(room, 1), replicas)
	notes.MaxMsgsPerSubject, notes.Discard = 1, jetstream.DiscardOld
	return []jetstream.StreamConfig{jobs, tries, notes}
}

// Own returns the configurations of the streams of a tenant that has a share, of 1, of room.
func Own(tenant string, share float64, room int64, replicas int) []jetstream.StreamConfig {
	own := func(kind, prefix string, percent float64) jetstream.StreamConfig {
		return file(Of(kind, tenant), prefix+tenant+".", part(room, share*percent), replicas)
	}
	queue := own(Queue, QueuePrefix, 2)
	queue.MaxMsgs, queue.MaxMsgSize = mostJobs, MostDescriptor
	if queue.MaxBytes > mostQueue || queue.MaxBytes < 0 {
		queue.MaxBytes = mostQueue
	}
	ends := own(Ends, EndsPrefix, 10)
	ends.Discard = jetstream.DiscardOld
	ends.RePublish = &jetstream.RePublish{Source: EndsPrefix + tenant + ".>", Destination: EndedPrefix + tenant + ".>"}
	dead := own(Dead, DeadPrefix, 2)
	dead.Discard, dead.MaxMsgsPerSubject = jetstream.DiscardOld, 1
	sealed := 32.0
	if replicas == 1 {
		sealed++ // tries are in memory
	}
	keys, witnesses := own(Keys, KeysPrefix, 50), own(Witnesses, WitnessesPrefix, sealed)
	keys.MaxMsgs, witnesses.MaxMsgs = mostParts, mostParts
	return []jetstream.StreamConfig{queue, ends, dead, keys, witnesses}
}

// part returns some percent of room, -1 for no bound.
func part(room int64, percent float64) int64 {
	if room <= 0 {
		return -1
	}
	return max(1, int64(float64(room/100)*percent))
}

// file returns the configuration of a stream in files, for the subjects of a prefix.
func file(name, prefix string, bytes int64, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{prefix + ">"}, Storage: jetstream.FileStorage,
		MaxBytes: bytes, Discard: jetstream.DiscardNew, AllowDirect: true, Duplicates: dedup, Replicas: replicas,
	}
}

// Consumer returns the configuration of the workers' consumer, which leaves at most inHand jobs with
// workers at a time. The server does not bound how often it delivers a job: workers count the
// failures that a job causes. The consumer has no filter: with one, even if all subjects pass it,
// the server would look into its index of subjects.
func Consumer(inHand int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: Workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
		MaxDeliver: -1, MaxAckPending: max(1, inHand),
	}
}

// Work is what a worker opens a prover for. Digests are SHA-256 of the bytes as
// gnark writes them, in hexadecimal.
type Work struct {
	System       string `json:"system"` // groth16, plonk
	Curve        string `json:"curve"`
	Circuit      string `json:"circuit"`
	ProvingKey   string `json:"proving_key"`
	VerifyingKey string `json:"verifying_key"`
	// Solidity has challenges hashed as the verifiers that gnark exports to
	// Solidity do.
	Solidity bool `json:"solidity,omitempty"`
}

// Digests returns those of the objects, the circuit's first.
func (w Work) Digests() []string { return []string{w.Circuit, w.ProvingKey, w.VerifyingKey} }

// Check refuses what cannot be a Work's: digests become names of files.
func (w Work) Check() error {
	for _, d := range w.Digests() {
		if b, err := hex.DecodeString(d); err != nil || len(b) != 32 || hex.EncodeToString(b) != d {
			return fmt.Errorf("%q is no digest", d)
		}
	}
	return nil
}

// Job is the descriptor of a job.
type Job struct {
	ID      string `json:"id"`
	Work    Work   `json:"work"`
	Witness Object `json:"witness"`
	// Priority orders the jobs of one client: those with a higher one first.
	Priority int `json:"priority,omitempty"`
	// Within is for how long after it is queued the job may be begun, for ever if it is zero. It is
	// no time of day: the clocks of those who read it need not agree.
	Within time.Duration `json:"within,omitempty"`
	// After are the IDs of jobs of the same tenant that must be proved before.
	After []string `json:"after,omitempty"`
	// Retry is how often an administrator has sent it again.
	Retry int `json:"retry,omitempty"`
	// Trace is the caller's place in a trace, as W3C's Trace Context writes it.
	Trace map[string]string `json:"trace,omitempty"`
}

// MsgID returns what tells one publication for the job from a repeated one.
func (j Job) MsgID() string {
	if j.Retry == 0 {
		return j.ID
	}
	return j.ID + "-retry-" + strconv.Itoa(j.Retry)
}

// Proper reports whether a message of a subject may be this job. The subject has the job's ID, and so
// has the subject of its witness. It waits for jobs of the same tenant only, because it is told how
// they end.
func (j Job) Proper(prefix, subject string) bool {
	foreign := func(id string) bool { return !ID.MatchString(id) || TenantOfJob(id) != TenantOfJob(j.ID) }
	return ID.MatchString(j.ID) && subject == prefix+j.ID && j.Witness.Subject == WitnessesPrefix+j.ID &&
		len(j.After) <= MostPrerequisites && !slices.ContainsFunc(j.After, foreign)
}

// MostPrerequisites bounds Job.After.
const MostPrerequisites = 1000

// Modest reports whether what a client may choose freely is small, so that jobs of one cannot
// fill the workers' stream.
func (j Job) Modest() bool {
	bytes := len(j.Work.System) + len(j.Work.Curve)
	for name, value := range j.Trace {
		bytes += len(name) + len(value)
	}
	for _, digest := range j.Work.Digests() {
		bytes += len(digest)
	}
	return bytes <= mostFree
}

// End is how a job ended: with a proof, or with a reason.
type End struct {
	Proof  []byte `json:"proof,omitempty"`
	Reason string `json:"reason,omitempty"`
	Caller bool   `json:"caller,omitempty"` // the reason is the job's own fault
	Kind   Kind   `json:"kind,omitempty"`   // of the reason
	Worker string `json:"worker"`
}

// Spare reports whether the job's witness is kept, so that the job can be sent again: it has no
// proof, and that is not the job's fault.
func (e End) Spare() bool { return e.Reason != "" && !e.Caller }

// ReadEnd returns what a job's end says. One that cannot be read says so: its job has ended all
// the same, and is not sent again.
func ReadEnd(text []byte) *End {
	e := new(End)
	if err := json.Unmarshal(text, e); err != nil {
		return &End{Reason: "its end cannot be read", Caller: true}
	}
	return e
}

// Kind is why a job ended without a proof, where it is not a failure.
type Kind string

// The kinds.
const (
	Cancelled Kind = "cancelled"
	Late      Kind = "late"    // its deadline passed before it was begun
	Blocked   Kind = "blocked" // a job that was to be proved before will not be
)

// TooLate is the reason of a job whose kind is Late.
const TooLate = "its deadline passed before it was begun"

// CostHeader is the header of an end with what the job cost.
const CostHeader = "Pippin-Cost"

// Cost is what a job cost the worker that ended it.
type Cost struct {
	Milliseconds float64 `json:"ms"`                // from its beginning to its end
	Card         float64 `json:"card_ms,omitempty"` // of a backend's time
	Outcome      Outcome `json:"outcome"`
	Spare        bool    `json:"spare,omitempty"` // the job may be sent again, with its witness
}

// Counts returns what the job is charged with: a backend's milliseconds, or those of the
// whole proof where the prover says nothing of a backend.
func (c Cost) Counts() float64 { return cmp.Or(c.Card, c.Milliseconds) }

// Outcome is how a job ended, for counting.
type Outcome string

// The outcomes beside those of Kind.
const (
	Proved Outcome = "proved"
	Failed Outcome = "dead"
)

// State is what a worker says of itself.
type State struct {
	Name      string   `json:"name"`
	Jobs      int      `json:"jobs"`    // at a time
	InHand    []string `json:"in_hand"` // IDs of jobs
	Circuits  int      `json:"circuits"`
	Done      uint64   `json:"done"`
	Failed    uint64   `json:"failed"`   // tries that were the job's fault
	Returned  uint64   `json:"returned"` // jobs given back for reasons of the worker's
	Draining  bool     `json:"draining,omitempty"`
	LastError string   `json:"last_error,omitempty"`
	Version   string   `json:"version,omitempty"`
}

// Name is what a worker may be called.
var Name = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ID is the form of a job's ID: TENANT.NAME.
var ID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}$`)

// TenantOfJob returns the tenant of a job's ID.
func TenantOfJob(id string) string {
	tenant, _, _ := strings.Cut(id, ".")
	return tenant
}

// Refused reports whether the server refused for good: the same request would get the
// same answer again.
func Refused(err error) bool {
	const invalid, inUse, overlaps = 10052, 10058, 10065 // a stream's configuration, its name, its subjects
	return Conflict(err) || Full(err) || isAPI(err, invalid, inUse, overlaps) ||
		errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrPermissionViolation)
}

// Conflict reports whether another message of the subject came first.
func Conflict(err error) bool {
	return isAPI(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Missing reports whether there is no message of that subject.
func Missing(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }

// Full reports whether the store has no room. Either the bound of a stream or of the
// server is reached, or the disk is full, for which there is no code.
func Full(err error) bool {
	return isAPI(err, 10002, 10023, 10047, 10077) || err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

func isAPI(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, c := range codes {
		if api.ErrorCode == c {
			return true
		}
	}
	return false
}

// Any replica of a stream answers who asks for a message, those that are behind their leader
// too.
const (
	catchUp    = 3 * time.Second // how long one may be behind before the leader is asked
	mostBehind = time.Minute     // how long one is waited for that has not what its leader has
)

// reader reads messages by subject.
type reader interface {
	Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error)
	Holds(ctx context.Context, subject string) (bool, error)
	replicas() int
}

// LastOf returns the last message of a subject that somebody knows to be there. Where the stream
// has replicas, those that are behind are given time, and that the message is missing is what
// the leader says. An error that wraps backend.ErrUnavailable says that it is there and was not
// to be had.
func LastOf(ctx context.Context, r reader, subject string) (*jetstream.RawStreamMsg, error) {
	pause := 50 * time.Millisecond
	for begun := time.Now(); ; {
		m, err := Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return r.Last(ctx, subject) })
		if !Missing(err) || r.replicas() < 2 {
			return m, err
		}
		if behind := time.Since(begun); behind > catchUp {
			there, problem := r.Holds(ctx, subject)
			if problem != nil {
				return nil, problem
			}
			if !there {
				return nil, err
			}
			if behind > mostBehind {
				return nil, fmt.Errorf("%w: %s is stored, and a server has been behind the others for %v",
					backend.ErrUnavailable, subject, behind.Round(time.Second))
			}
			pause = 500 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Once stores a message in a stream, unless one of its subject is there, or elsewhere says that
// it is not needed any more. It returns the number of the message that is there, 0 if none is
// needed, and reports whether it stored that.
//
// A refusal for another message means little by itself. Where streams have replicas, the other
// one may be on its way and be lost with the server that has it; it may even be an earlier try of
// this one. So Once looks. The message's ID begins with of and belongs to this call: the server
// takes a message whose ID it has seen lately for stored, though it may be gone since. And the
// server looks for another message of the subject before it looks at IDs. So when the answer to
// a try comes too late, the next try is refused, and the stored ID tells that it is this call's.
func (l *Link) Once(
	ctx context.Context, m *nats.Msg, of string, elsewhere func(context.Context) (bool, error),
) (seq uint64, first bool, err error) {
	id := of + " " + nuid.Next()
	for {
		ack, err := Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
			return l.JS.PublishMsg(ctx, m, jetstream.WithMsgID(id), jetstream.WithExpectLastSequencePerSubject(0))
		})
		if err == nil {
			return ack.Sequence, true, nil
		}
		if !Conflict(err) {
			return 0, false, err
		}
		stored, err := LastOf(ctx, l, m.Subject)
		if err == nil {
			return stored.Sequence, stored.Header.Get(jetstream.MsgIDHeader) == id, nil
		}
		if !Missing(err) {
			return 0, false, err
		}
		if elsewhere != nil {
			if there, err := elsewhere(ctx); there || err != nil {
				return 0, false, err
			}
		}
	}
}

// patience is how long one request to the server may take before it is repeated.
const patience = 4 * time.Second

// Flush waits until the server has read what was sent. A connection that breaks meanwhile costs
// time only: what it took along may be lost, subscriptions are not.
func Flush(ctx context.Context, nc *nats.Conn) error {
	_, err := Ask(ctx, func(ctx context.Context) (struct{}, error) {
		err := nc.FlushWithContext(ctx)
		if errors.Is(err, nats.ErrConnectionClosed) && !nc.IsClosed() {
			err = nats.ErrDisconnected // it says the same of a connection that is made anew
		}
		return struct{}{}, err
	})
	return err
}

// Ask repeats a request to the server until it is answered, ctx ends, or the answer
// is final: Refused or Missing. A server that restarts costs time only.
func Ask[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	pause := 20 * time.Millisecond
	for {
		one, cancel := context.WithTimeout(ctx, patience)
		v, err := request(one)
		cancel()
		if err == nil || Refused(err) || Missing(err) {
			return v, err
		}
		if errors.Is(err, nats.ErrConnectionClosed) { // by us
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}
