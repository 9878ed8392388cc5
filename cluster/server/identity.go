package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nkeys"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// The tickets that a server writes into its folder.
const (
	AdminTicket  = "admin.json"  // for status and drain, and for the server itself
	ClientTicket = "client.json" // for proofs
	WorkerTicket = "worker.json"
)

// TicketOf returns the name of the ticket of a client in Config.Clients.
func TicketOf(client string) string { return "client-" + client + ".json" }

// WorkerTicketOf returns the name of the ticket of a worker in Config.Workers.
func WorkerTicketOf(worker string) string { return "worker-" + worker + ".json" }

// identity holds the keys that make a cluster the same one after a restart. It is stored in a file
// that only its user may read, and is refused if others may.
type identity struct {
	Admin, Client, Worker string            // seeds of nkeys
	Clients               map[string]string // seeds of the clients in Config.Clients, by name
	Workers               map[string]string // seeds of the workers in Config.Workers, by name
	Before                []string          // tenants that are no longer let in, the latest first
	Seal, Open            string            // keys that seal and open witnesses
	OpenBefore            []string          // keys that opened witnesses before, the latest first
	Hosts                 []string
	Certificate, Key      string // in PEM, for Hosts
}

// loadIdentity reads the identity of a folder, or makes one, with seeds for all clients and workers
// that are listed. Those that are no longer listed lose their seeds; if they are listed again, they
// get new ones. The certificate is made anew if it is for other hosts, ends within renewBefore, or
// must serve peers and cannot. Without hosts there is no certificate.
func loadIdentity(cfg Config) (*identity, error) {
	dir, hosts, rotate := cfg.Dir, cfg.Hosts, cfg.Rotate
	path := filepath.Join(dir, identityFile)
	id := new(identity)
	text, err := wire.ReadSecret(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		rotate = true
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(text, id); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", backend.ErrInvalidInput, path, err)
		}
	}
	had, err := id.allTenants()
	if err != nil {
		return nil, err
	}
	if rotate {
		if err := id.rotate(); err != nil {
			return nil, err
		}
	}
	if slices.Contains(cfg.Clients, common) {
		return nil, fmt.Errorf("%w: %q is the name of the ticket that clients share: give the client another", backend.ErrInvalidInput, common)
	}
	if id.Clients, err = seeds("client", id.Clients, cfg.Clients); err != nil {
		return nil, err
	}
	if id.Workers, err = seeds("worker", id.Workers, cfg.Workers); err != nil {
		return nil, err
	}
	if err := id.part(had); err != nil {
		return nil, err
	}
	if now := time.Now(); len(hosts) > 0 && (!slices.Equal(id.Hosts, hosts) || !id.lasts(now.Add(renewBefore), len(cfg.Peers) > 0)) {
		if err := id.certify(hosts, now); err != nil {
			return nil, err
		}
	}
	return id, id.write(dir)
}

// allTenants returns the tenants of all clients, that of the common ticket among them.
func (id *identity) allTenants() (all []string, err error) {
	for _, seed := range slices.AppendSeq([]string{id.Client}, maps.Values(id.Clients)) {
		if seed == "" {
			continue // the identity is new
		}
		key, err := publicKey(seed)
		if err != nil {
			return nil, err
		}
		all = append(all, wire.TenantOf(key))
	}
	return all, nil
}

// mostBefore bounds how many tenants are noted that are no longer let in. Jobs of these may still
// wait.
const mostBefore = 100

// part notes which tenants of had are no longer let in. Workers may still read what their jobs
// need.
func (id *identity) part(had []string) error {
	has, err := id.allTenants()
	if err != nil {
		return err
	}
	for _, tenant := range had {
		if !slices.Contains(has, tenant) {
			id.Before = append([]string{tenant}, id.Before...)
		}
	}
	id.Before = id.Before[:min(mostBefore, len(id.Before))]
	return nil
}

// write writes the identity into its folder.
func (id *identity) write(dir string) error {
	text, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(filepath.Join(dir, identityFile), text, 0o600)
}

// identityFile is the name of the identity's file in a server's folder.
const identityFile = "identity.json"

// keysBefore is how many earlier keys for witnesses are kept.
const keysBefore = 2

// rotate makes every secret anew that a ticket contains. What was sealed with the key before can
// still be opened. Tenants get new names, so clients must add their circuits again.
func (id *identity) rotate() (err error) {
	for _, seed := range []*string{&id.Admin, &id.Client, &id.Worker} {
		if *seed, err = newSeed(); err != nil {
			return err
		}
	}
	id.Clients, id.Workers = nil, nil
	if id.Open != "" {
		id.OpenBefore = append([]string{id.Open}, id.OpenBefore...)
		id.OpenBefore = id.OpenBefore[:min(keysBefore, len(id.OpenBefore))]
	}
	id.Seal, id.Open, err = wire.NewSealing()
	return err
}

// seeds returns the seeds of those who are listed: those in has, and new ones for the rest. what is
// "client" or "worker", for errors.
func seeds(what string, has map[string]string, listed []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range listed {
		if !wire.Name.MatchString(name) {
			return nil, fmt.Errorf("%w: %q is no %s's name: letters, digits, - and _, at most 64", backend.ErrInvalidInput, name, what)
		}
		all[name] = has[name]
		if all[name] == "" {
			seed, err := newSeed()
			if err != nil {
				return nil, err
			}
			all[name] = seed
		}
	}
	return all, nil
}

// common is the name of the ticket that all clients share which have none of their own.
const common = "client"

// clientSeeds returns the seeds of all clients by name, and that of the common ticket.
func (id *identity) clientSeeds(clients []string) map[string]string {
	all := map[string]string{common: id.Client}
	for _, name := range clients {
		all[name] = id.Clients[name]
	}
	return all
}

// workerSeeds returns the seeds of the workers that are listed. If none is, it returns that of the
// ticket which all workers share.
func (id *identity) workerSeeds(workers []string) (all []string) {
	if len(workers) == 0 {
		return []string{id.Worker}
	}
	for _, name := range workers {
		all = append(all, id.Workers[name])
	}
	return all
}

// newSeed makes the seed of an nkey.
func newSeed() (string, error) {
	k, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	seed, err := k.Seed()
	return string(seed), err
}

// Join prepares a folder for a cluster on somebody else's server. It writes tickets for clients and
// workers that log in as the administrator's ticket does, with keys for witnesses that the server
// does not know. To let clients or workers do less, put seeds of other users into their tickets by
// hand.
func Join(dir string, admin cluster.Ticket) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	id, err := loadIdentity(Config{Dir: dir})
	if err != nil {
		return fmt.Errorf("the cluster's identity: %w", err)
	}
	id.Admin, id.Client, id.Worker, id.Certificate = admin.Seed, admin.Seed, admin.Seed, admin.Roots
	return id.writeTickets(dir, admin.URL, admin.Roots != "", nil, nil)
}

// writeTickets writes the tickets by which clients, workers and administrators log in. It removes
// those of clients and workers that are no longer listed.
func (id *identity) writeTickets(dir, url string, secure bool, clients, workers []string) error {
	tickets := map[string]wire.Ticket{
		AdminTicket:  {Seed: id.Admin, Fingerprint: wire.Fingerprint(id.Seal)},
		ClientTicket: {Seed: id.Client, Seal: id.Seal},
		WorkerTicket: {Seed: id.Worker, Open: id.Open, OpenBefore: id.OpenBefore},
	}
	for _, name := range clients {
		tickets[TicketOf(name)] = wire.Ticket{Seed: id.Clients[name], Seal: id.Seal}
	}
	if len(workers) > 0 {
		delete(tickets, WorkerTicket)
	}
	for _, name := range workers {
		tickets[WorkerTicketOf(name)] = wire.Ticket{Seed: id.Workers[name], Open: id.Open, OpenBefore: id.OpenBefore}
	}
	for _, pattern := range []string{TicketOf("*"), WorkerTicketOf("*"), WorkerTicket} {
		old, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if _, listed := tickets[filepath.Base(path)]; !listed {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
	}
	for name, t := range tickets {
		t.URL = url
		if secure {
			t.Roots = id.Certificate
		}
		if err := t.Write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
