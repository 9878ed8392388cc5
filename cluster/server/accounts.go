package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	nats "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// NATS does what it is asked with its own rights, not with those of the asker, and sends the answer
// to the subject that the asker names. So a client that shares an account with others could make
// NATS write under subjects of the others. Here only managers and administrators share an account.
// Each ticket of a client or a worker has an account for itself, which imports what the holder may
// ask and hear. The subject that the holder names for an answer is then one of this account, and of
// no other.

// ours is the account of managers and administrators. No other account has JetStream.
const ours = "pippin"

// What one ticket may have at a time. Bytes and messages are bounded by the tenant's streams.
const (
	mostConnections   = 1000
	mostSubscriptions = 100_000
)

// remembers is how long the server remembers a request that is not answered yet. With NATS's
// default of two minutes a client could fill the memory with requests that get no answer.
const remembers = "10s"

// grant lists the subjects that the holder of a ticket may use.
type grant struct {
	ask    []string // requests to managers and streams that are answered once
	stream []string // requests to streams that are answered several times
	hear   []string
	inbox  string
}

// clientGrant returns what a client may do: store jobs, keys and witnesses, read its own jobs,
// results and keys, and ask managers about these. Every subject has its tenant in it.
func clientGrant(tenant string) grant {
	own := tenant + ".>"
	return grant{
		ask: slices.Concat(
			[]string{wire.QueuePrefix + own, wire.KeysPrefix + own, wire.WitnessesPrefix + own},
			reads(tenant, wire.QueuePrefix, wire.EndsPrefix, wire.DeadPrefix, wire.KeysPrefix),
			[]string{wire.HelloPrefix + tenant, wire.StatusPrefix + tenant, wire.CancelPrefix + own},
			[]string{wire.HoldsPrefix + "*." + own, wire.ForgetPrefix + "*." + own},
		),
		hear:  []string{wire.EndedPrefix + own},
		inbox: wire.Inbox(tenant),
	}
}

// workerGrant returns what a worker may do, for all tenants: take jobs, read their witnesses and
// keys, and store how they ended. It cannot remove anything.
func workerGrant(tenant string, clients []string) grant {
	g := grant{
		ask: []string{
			"$JS.ACK." + wire.Jobs + "." + wire.Workers + ".>", "$JS.API.DIRECT.GET." + wire.Tries + "." + wire.TriesPrefix + ">",
			wire.TriesPrefix + ">", wire.EndsPrefix + ">", wire.DeadPrefix + ">",
			wire.Hello, wire.HoldsPrefix + ">", wire.Roster, wire.Here, wire.AnswerPrefix + ">",
		},
		stream: []string{"$JS.API.CONSUMER.MSG.NEXT." + wire.Jobs + "." + wire.Workers},
		hear:   []string{wire.Who, wire.Who + ".*", wire.Drain, wire.Drain + ".*", wire.StopPrefix + ">"},
		inbox:  wire.Inbox(tenant),
	}
	for _, client := range clients {
		g.ask = append(g.ask, reads(client, wire.EndsPrefix, wire.KeysPrefix, wire.WitnessesPrefix)...)
	}
	return g
}

// reads returns the subjects by which messages of a tenant are read.
func reads(tenant string, prefixes ...string) (subjects []string) {
	for _, prefix := range prefixes {
		of := prefix + tenant + ".>"
		subjects = append(subjects, "$JS.API.DIRECT.GET."+wire.StreamOf(of)+"."+of)
	}
	return subjects
}

// The configuration of accounts, as NATS reads it.
type (
	accountText struct {
		JetStream string         `json:"jetstream,omitempty"`
		Limits    map[string]int `json:"limits,omitempty"`
		Users     []userText     `json:"users"`
		Exports   []exportText   `json:"exports,omitempty"`
		Imports   []importText   `json:"imports,omitempty"`
	}
	userText struct {
		Nkey        string              `json:"nkey"`
		Permissions map[string][]string `json:"permissions"`
	}
	exportText struct {
		Service  string `json:"service,omitempty"`
		Stream   string `json:"stream,omitempty"`
		Response string `json:"response_type,omitempty"`
		// Threshold is how long the server remembers a request that is not answered.
		Threshold string   `json:"threshold,omitempty"`
		Accounts  []string `json:"accounts"`
	}
	importText struct {
		Service *sourceText `json:"service,omitempty"`
		Stream  *sourceText `json:"stream,omitempty"`
	}
	sourceText struct {
		Account string `json:"account"`
		Subject string `json:"subject"`
	}
)

// accounts puts the holders of all tickets into the configuration of NATS, each with an account and
// a grant.
func (id *identity) accounts(cfg Config, opts *nats.Options) error {
	admin, err := publicKey(id.Admin)
	if err != nil {
		return err
	}
	everything := map[string][]string{"publish": {">"}, "subscribe": {">"}}
	us := accountText{JetStream: "enabled", Users: []userText{{admin, everything}}}
	all := map[string]accountText{}
	exported := map[exportKey][]string{} // the accounts to which each subject is exported
	add := func(key, tenant string, g grant) {
		all[tenant] = g.account(key)
		for _, subject := range g.ask {
			exported[exportKey{service: subject}] = append(exported[exportKey{service: subject}], tenant)
		}
		for _, subject := range g.stream {
			k := exportKey{service: subject, response: "stream"}
			exported[k] = append(exported[k], tenant)
		}
		for _, subject := range g.hear {
			exported[exportKey{stream: subject}] = append(exported[exportKey{stream: subject}], tenant)
		}
	}
	var clients []string
	for _, seed := range id.clientSeeds(cfg.Clients) {
		key, err := publicKey(seed)
		if err != nil {
			return err
		}
		clients = append(clients, wire.TenantOf(key))
		add(key, wire.TenantOf(key), clientGrant(wire.TenantOf(key)))
	}
	for _, seed := range id.workerSeeds(cfg.Workers) {
		key, err := publicKey(seed)
		if err != nil {
			return err
		}
		add(key, wire.TenantOf(key), workerGrant(wire.TenantOf(key), slices.Concat(clients, id.Before)))
	}
	for k, to := range exported {
		e := exportText{Service: k.service, Stream: k.stream, Response: k.response, Accounts: to}
		if k.service != "" && k.response == "" {
			e.Threshold = remembers
		}
		us.Exports = append(us.Exports, e)
	}
	all[ours] = us
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // NATS does not know \u003e
	err = enc.Encode(map[string]any{"accounts": all})
	if err == nil {
		err = opts.ProcessConfigString(text.String())
	}
	if err != nil {
		return fmt.Errorf("%w: accounts: %w", backend.ErrInternal, err)
	}
	return nil
}

// exportKey is a subject that is exported, and how it is answered.
type exportKey struct{ service, stream, response string }

// account returns the configuration of an account that has a grant. key is the public nkey of its
// user.
func (g grant) account(key string) accountText {
	a := accountText{
		Limits: map[string]int{"max_connections": mostConnections, "max_subscriptions": mostSubscriptions, "max_payload": maxPayload},
		Users: []userText{{key, map[string][]string{
			"publish": slices.Concat(g.ask, g.stream), "subscribe": append([]string{g.inbox + ".>"}, g.hear...),
		}}},
	}
	for _, subject := range slices.Concat(g.ask, g.stream) {
		a.Imports = append(a.Imports, importText{Service: &sourceText{ours, subject}})
	}
	for _, subject := range g.hear {
		a.Imports = append(a.Imports, importText{Stream: &sourceText{ours, subject}})
	}
	return a
}

// publicKey returns the public nkey of a seed.
func publicKey(seed string) (string, error) {
	key, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", err
	}
	return key.PublicKey()
}
