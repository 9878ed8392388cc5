// Package cluster has proofs made on other machines. Jobs lie on a NATS server with
// JetStream until a worker has proved them; package cluster/server runs one, package
// cluster/worker proves, and this package is for programs that want proofs:
//
//	ticket, err := cluster.ReadTicket("client.json")               // msm cluster up writes it
//	client, err := cluster.Connect(ticket)
//	prover, err := client.Add(ctx, ccs, pk, vk, cluster.Options{}) // uploads what is missing
//	proof, err := prover.Prove(ctx, witness)                       // verified, from any goroutine
//
// A job is one proof. Workers and server may die and come back meanwhile; a job has
// one answer, the first. A witness leaves this process encrypted for the workers, and
// is deleted after the answer. docs/howto/cluster.md says how a cluster is run
// and what protects whom against whom, docs/adr/0025-a-proving-cluster.md why it is
// made so.
//
// # For operators
//
// A program that wants proofs needs none of these: Status, Ledger, Usage, Cost, Dead, Stored,
// StoredKey, Waiting, Figures and Workers. The commands msm cluster status and keys show them,
// and a server's metrics count them.
package cluster
