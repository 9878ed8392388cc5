// Package cluster gets proofs from other machines. Jobs wait on a NATS server with JetStream until a
// worker has proved them. Package cluster/server runs the server, package cluster/worker proves, and
// this package is for programs that need proofs:
//
//	ticket, err := cluster.ReadTicket("client.json")               // msm cluster up writes it
//	client, err := cluster.Connect(ticket)
//	prover, err := client.Add(ctx, ccs, pk, vk, cluster.Options{}) // uploads what is missing
//	proof, err := prover.Prove(ctx, witness)                       // verified, from any goroutine
//
// AddCircom does so for a circuit of circom, with snarkjs's key.
//
// A job is one proof. Workers and the server may die and come back meanwhile. A job has one answer:
// the first. A witness leaves this process encrypted for the workers, and is deleted after the
// answer. docs/howto/cluster.md says how to run a cluster and what protects whom against whom.
// docs/adr/0025-a-proving-cluster.md gives the reasons for this design.
//
// # For operators
//
// A program that needs proofs uses none of these: Status, Ledger, Usage, Cost, Dead, Stored,
// StoredKey, Waiting, Figures and Workers. The commands msm cluster status and keys show them, and
// the metrics of a server count them.
package cluster
