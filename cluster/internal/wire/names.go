// Package wire is what the client, the workers and the server of a cluster agree on: the names of
// streams and subjects, the messages, the layout of objects in streams, the sealing of witnesses,
// and how to connect. docs/adr/0025 gives the reasons.
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

// The streams that all tenants share. Only managers and workers write to them.
const (
	Jobs  = "pippin_jobs"  // jobs whose turn it is, until they are acknowledged
	Tries = "pippin_tries" // counts how often each job was begun and failed
	Notes = "pippin_notes" // notes of managers: who leads, what clients have used
)

// The kinds of streams that each tenant has for itself. A stream's name ends with the tenant.
const (
	Queue     = "pippin_queue"     // descriptors of jobs that have not ended
	Ends      = "pippin_ends"      // one message a job: its proof, or why there is none
	Dead      = "pippin_dead"      // jobs that ended without a proof, for people
	Keys      = "pippin_keys"      // circuits and keys, by digest
	Witnesses = "pippin_witnesses" // sealed witnesses, until their job has ended
)

// kinds lists the kinds of a tenant's streams.
var kinds = []string{Queue, Ends, Dead, Keys, Witnesses}

// Of returns the name of a tenant's stream.
func Of(kind, tenant string) string { return kind + "_" + tenant }

// Apart returns the kind and the tenant in a stream's name. The tenant is empty if all tenants
// share the stream.
func Apart(stream string) (kind, tenant string) {
	for _, kind := range kinds {
		if tenant, is := strings.CutPrefix(stream, kind+"_"); is {
			return kind, tenant
		}
	}
	return stream, ""
}

// StreamOf returns the name of the stream that holds a subject's messages.
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

// The subjects. After a prefix comes a job's ID, which begins with its tenant, or a worker's name.
const (
	QueuePrefix     = "pippin.queue."
	JobsPrefix      = "pippin.jobs."
	EndsPrefix      = "pippin.ends."
	EndedPrefix     = "pippin.ended." // repeats an end once it is stored
	TriesPrefix     = "pippin.tries."
	DeadPrefix      = "pippin.dead."
	KeysPrefix      = "pippin.keys." // TENANT.DIGEST
	WitnessesPrefix = "pippin.witnesses."
	ForgetPrefix    = "pippin.forget." // asks the manager to remove what a client stored, or a result that it took
	CancelPrefix    = "pippin.cancel." // asks managers to end a job
	StopPrefix      = "pippin.stop."   // a manager tells workers that nobody wants a job any more
	NotesPrefix     = "pippin.notes."
	HelloPrefix     = "pippin.hello."  // a manager answers a client with a Greeting; the tenant follows
	StatusPrefix    = "pippin.status." // the manager that leads answers with the Status of the tenant that follows
	HoldsPrefix     = "pippin.holds."  // a manager answers whether there is a message of the subject that follows
	AnswerPrefix    = "pippin.answer." // workers send their answers to managers and administrators here

	Hello  = "pippin.hello"  // a manager answers a worker with a Greeting
	Status = "pippin.status" // the manager that leads answers an administrator with its Tally
	Who    = "pippin.who"    // every worker answers with its State; with .NAME only that one
	Here   = "pippin.here"   // a worker that begins tells its State
	Roster = "pippin.roster" // managers answer with the States of the workers that they have heard of lately
	Drain  = "pippin.drain"  // tells all workers to drain; with .NAME only that one
)

// WorkerPrefix begins the name of a worker's connection; the worker's name follows.
const WorkerPrefix = "pippin worker "

// Workers is the consumer of Jobs that all workers share.
const Workers = "workers"

// AckWait is how long a worker that is silent keeps its job. Workers send a sign of life four times
// in this time.
const AckWait = 3 * time.Second

// MaxEnd bounds the bytes of a proof.
const MaxEnd = 512 << 10

// dedup is how long the server recognises a repeated publication.
const dedup = 2 * time.Minute

// Bounds of what one tenant may store, besides bytes: each message takes memory too.
const (
	mostJobs  = 100_000   // in the queue
	mostQueue = 256 << 20 // bytes of the queue, which managers hold in memory
	mostParts = 1_000_000 // messages of witnesses, and as many of keys
)

// mostFree bounds the bytes in a descriptor that a client chooses freely, which are mostly traces.
const mostFree = 4 << 10

// MostDescriptor bounds the bytes of a job's descriptor.
const MostDescriptor = 192 << 10

// Shared returns the configurations of the streams that all tenants share. No message expires by
// age, because then a clock that jumps would delete jobs. All streams of a cluster together may
// take room bytes, or all that the server has if room is 0. Each stream has the given number of
// replicas, each on another server.
func Shared(room int64, replicas int) []jetstream.StreamConfig {
	jobs := file(Jobs, JobsPrefix, part(room, 2), replicas)
	jobs.Retention = jetstream.WorkQueuePolicy
	tries := file(Tries, TriesPrefix, part(room, 1), replicas)
	tries.Discard, tries.MaxMsgsPerSubject = jetstream.DiscardOld, 1
	if replicas == 1 {
		// Tries stay in memory only with a single server. With several, each server would begin
		// with an empty log after a restart. Its vote would count only once it had caught up, and
		// if the next server was away at that time, there would be no leader.
		tries.Storage, tries.MaxBytes = jetstream.MemoryStorage, 64<<20
	}
	notes := file(Notes, NotesPrefix, part(room, 1), replicas)
	notes.MaxMsgsPerSubject, notes.Discard = 1, jetstream.DiscardOld
	return []jetstream.StreamConfig{jobs, tries, notes}
}

// Own returns the configurations of a tenant's streams. share is the tenant's share of room, at
// most 1.
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

// part returns percent of room in bytes, or -1 for no bound.
func part(room int64, percent float64) int64 {
	if room <= 0 {
		return -1
	}
	return max(1, int64(float64(room/100)*percent))
}

// file returns the configuration of a stream in files that takes all subjects with a prefix.
func file(name, prefix string, bytes int64, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{prefix + ">"}, Storage: jetstream.FileStorage,
		MaxBytes: bytes, Discard: jetstream.DiscardNew, AllowDirect: true, Duplicates: dedup, Replicas: replicas,
	}
}

// Consumer returns the configuration of the workers' consumer, which lets workers hold at most
// inHand jobs at a time. The server does not bound how often it delivers a job: workers count the
// failures that a job causes. The consumer has no filter, because with any filter, even one that
// all subjects match, the server would search its index of subjects.
func Consumer(inHand int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: Workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
		MaxDeliver: -1, MaxAckPending: max(1, inHand),
	}
}

// Circom is the system of circom's circuits. Their works have one file, a .zkey, as proving key: the
// circuit and the verifying key are in it.
const Circom = "circom"

// Work says what a worker opens a prover for. A digest is the SHA-256, in hexadecimal, of the bytes
// that gnark or snarkjs writes.
type Work struct {
	System       string `json:"system"` // groth16, plonk, circom
	Curve        string `json:"curve"`
	Circuit      string `json:"circuit"`
	ProvingKey   string `json:"proving_key"`
	VerifyingKey string `json:"verifying_key"`
	// Solidity makes the prover hash challenges like the verifiers that gnark exports to Solidity.
	Solidity bool `json:"solidity,omitempty"`
}

// Digests returns the digests of the work's files: of the circuit, the proving key and the verifying
// key, or of the one file of Circom.
func (w Work) Digests() []string {
	if w.System == Circom {
		return []string{w.ProvingKey}
	}
	return []string{w.Circuit, w.ProvingKey, w.VerifyingKey}
}

// Check refuses malformed digests, because digests become names of files.
func (w Work) Check() error {
	if w.System == Circom && (w.Circuit != "" || w.VerifyingKey != "" || w.Solidity) {
		return errors.New("a work of circom has a proving key and nothing else")
	}
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
	// Priority orders the jobs of one client: a higher one comes first.
	Priority int `json:"priority,omitempty"`
	// Within is how long after it is queued the job may still be begun; zero means no bound. It is
	// not a time of day, because the clocks of those who read it need not agree.
	Within time.Duration `json:"within,omitempty"`
	// After are the IDs of the jobs of the same tenant that must be proved first.
	After []string `json:"after,omitempty"`
	// Retry counts how often an administrator has sent the job again.
	Retry int `json:"retry,omitempty"`
	// Trace is the caller's place in a trace, as W3C's Trace Context writes it.
	Trace map[string]string `json:"trace,omitempty"`
}

// MsgID returns the ID by which the server recognises a repeated publication of the job. Each retry
// has another one.
func (j Job) MsgID() string {
	if j.Retry == 0 {
		return j.ID
	}
	return j.ID + "-retry-" + strconv.Itoa(j.Retry)
}

// Proper reports whether a message of a subject may be this job. The job's ID must be in the
// message's subject and in the subject of its witness. The job may wait only for jobs of its
// tenant, because it is told how they end.
func (j Job) Proper(prefix, subject string) bool {
	foreign := func(id string) bool { return !ID.MatchString(id) || TenantOfJob(id) != TenantOfJob(j.ID) }
	return ID.MatchString(j.ID) && subject == prefix+j.ID && j.Witness.Subject == WitnessesPrefix+j.ID &&
		len(j.After) <= MostPrerequisites && !slices.ContainsFunc(j.After, foreign)
}

// MostPrerequisites bounds Job.After.
const MostPrerequisites = 1000

// Modest reports whether the part that a client chooses freely is small, so that the jobs of one
// client cannot fill the workers' stream.
func (j Job) Modest() bool {
	w := j.Work
	bytes := len(w.System) + len(w.Curve) + len(w.Circuit) + len(w.ProvingKey) + len(w.VerifyingKey)
	for name, value := range j.Trace {
		bytes += len(name) + len(value)
	}
	return bytes <= mostFree
}

// End is how a job ended: with a proof, or with a reason.
type End struct {
	Proof  []byte `json:"proof,omitempty"`
	Reason string `json:"reason,omitempty"`
	Caller bool   `json:"caller,omitempty"` // the job itself is at fault
	Kind   Kind   `json:"kind,omitempty"`   // of the reason
	Worker string `json:"worker"`
}

// Spare reports whether the job's witness is kept, so that the job can be sent again. That is so if
// the job has no proof and is not itself at fault.
func (e End) Spare() bool { return e.Reason != "" && !e.Caller }

// ReadEnd returns a job's end. If the end cannot be read, ReadEnd returns one that says so: the job
// has ended all the same and is not sent again.
func ReadEnd(text []byte) *End {
	e := new(End)
	if err := json.Unmarshal(text, e); err != nil {
		return &End{Reason: "its end cannot be read", Caller: true}
	}
	return e
}

// Kind says why a job ended without a proof, if it did not fail.
type Kind string

// The kinds.
const (
	Cancelled Kind = "cancelled"
	Late      Kind = "late"    // its deadline passed before it was begun
	Blocked   Kind = "blocked" // a prerequisite of the job will not be proved
)

// TooLate is the reason in the end of a job whose Kind is Late.
const TooLate = "its deadline passed before it was begun"

// CostHeader is the header of an end that holds the job's Cost.
const CostHeader = "Pippin-Cost"

// Cost is what a job cost the worker that ended it. Times are in milliseconds.
type Cost struct {
	Milliseconds float64 `json:"ms"`                // from its beginning to its end
	Card         float64 `json:"card_ms,omitempty"` // time of a backend for it
	Outcome      Outcome `json:"outcome"`
	Spare        bool    `json:"spare,omitempty"` // the job may be sent again, because its witness is kept
}

// Counts returns the milliseconds that the job is charged with: those of a backend or, if the
// prover reports none, those of the whole proof.
func (c Cost) Counts() float64 { return cmp.Or(c.Card, c.Milliseconds) }

// Outcome says how a job ended, for counting.
type Outcome string

// The outcomes besides those of Kind.
const (
	Proved Outcome = "proved"
	Failed Outcome = "dead"
)

// State is what a worker reports about itself.
type State struct {
	Name      string   `json:"name"`
	Jobs      int      `json:"jobs"`    // most that it takes at a time
	InHand    []string `json:"in_hand"` // IDs of jobs
	Circuits  int      `json:"circuits"`
	Done      uint64   `json:"done"`
	Failed    uint64   `json:"failed"`   // tries that failed on it; those that it gave back are Returned
	Returned  uint64   `json:"returned"` // jobs given back for the worker's reasons
	Draining  bool     `json:"draining,omitempty"`
	LastError string   `json:"last_error,omitempty"`
	Version   string   `json:"version,omitempty"`
}

// Name is the form of a worker's name.
var Name = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ID is the form of a job's ID: TENANT.NAME.
var ID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64}$`)

// TenantOfJob returns the tenant in a job's ID.
func TenantOfJob(id string) string {
	tenant, _, _ := strings.Cut(id, ".")
	return tenant
}

// Refused reports whether the server's refusal is final: the same request would be refused again.
func Refused(err error) bool {
	const invalid, inUse, overlaps = 10052, 10058, 10065 // invalid: a stream's configuration; inUse: its name; overlaps: its subjects
	return Conflict(err) || Full(err) || isAPI(err, invalid, inUse, overlaps) ||
		errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrPermissionViolation)
}

// Conflict reports whether another message of the subject was stored first.
func Conflict(err error) bool {
	return isAPI(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Missing reports whether the error says that no such message exists.
func Missing(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }

// Full reports whether the store has no room. A bound of a stream or of the server is reached, or
// the disk is full; for the last there is no error code.
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

// Any replica of a stream may answer a reader, even one that is behind its leader.
const (
	catchUp    = 3 * time.Second // a replica may be behind this long before the leader is asked
	mostBehind = time.Minute     // the longest wait for a replica that lacks what its leader has
)

// reader reads messages by subject.
type reader interface {
	Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error)
	Holds(ctx context.Context, subject string) (bool, error)
	replicas() int
}

// LastOf returns the last message of a subject that the caller knows to exist. It gives replicas
// that are behind time to catch up, and reports a message as missing only if the leader says so. An
// error that wraps backend.ErrUnavailable says that the message exists but could not be read.
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

// Once stores a message in a stream, unless the subject has one, or elsewhere reports that none is
// needed any more. It returns the number of the stored message, or 0 if none is needed. first
// reports whether this call stored it.
//
// A refusal because of another message does not prove that the message stays. With replicas, the
// other message may be on its way and be lost with its server; it may even come from an earlier try
// of this call. So Once looks for it.
//
// The message's ID begins with of and is unique to this call. A shared ID would not do: the server
// takes a message whose ID it saw lately for stored, even if it has been removed since. But the
// server looks for another message of the subject before it looks at IDs. So if the answer to a try
// comes too late, the next try is refused, and the ID of the stored message shows that it is this
// call's.
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

// patience bounds one request to the server before it is repeated.
const patience = 4 * time.Second

// Flush waits until the server has read what was sent. If the connection breaks meanwhile, Flush
// waits for the next one. What was sent on the broken one may be lost; subscriptions are not.
func Flush(ctx context.Context, nc *nats.Conn) error {
	_, err := Ask(ctx, func(ctx context.Context) (struct{}, error) {
		err := nc.FlushWithContext(ctx)
		if errors.Is(err, nats.ErrConnectionClosed) && !nc.IsClosed() {
			err = nats.ErrDisconnected // the library returns the same error while it connects again
		}
		return struct{}{}, err
	})
	return err
}

// Ask repeats a request to the server until it is answered, ctx ends, or the error is final:
// Refused or Missing. So a restart of the server costs only time.
func Ask[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	pause := 20 * time.Millisecond
	for {
		one, cancel := context.WithTimeout(ctx, patience)
		v, err := request(one)
		cancel()
		if err == nil || Refused(err) || Missing(err) {
			return v, err
		}
		if errors.Is(err, nats.ErrConnectionClosed) { // closed by this process
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
