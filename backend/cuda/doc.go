// Package cuda computes on NVIDIA GPUs. A plugin serves it; a prover does not import it,
// but opens the backend "cuda", which is that plugin.
//
//	b, err := cuda.Open(cuda.Options{})
//
// Its parts are packages below it. Package device is one card, package msm computes MSMs on it, and
// package driver is the CUDA driver; this package opens them, keeps bases by their ids,
// spreads work over the cards and answers the contract.
//
// # Several cards
//
// place.go decides who computes what, without side effects. Bases are on every
// card that has the room for all of them, else each card has a part. An MSM stays
// whole while others keep the other cards busy, and is split by points where that
// ends it sooner; the sums of its parts are added on the host. A program runs on one
// card, where what it writes is, and what it only reads is copied there and stays
// until somebody writes it (spaces.go); a commitment to bases that this card lacks
// is computed where they are.
//
// A card that is lost is taken out and its work computed again on the others. It is
// tried again with pauses that grow, in this process, and gets a copy of the bases.
// One that had vectors or bases that no other card has takes the backend with it:
// who opens another loads them anew.
//
// Without the tag cuda, or without cgo, Open fails with backend.ErrUnavailable.
//
// # Files
//
//	place.go   which card computes what
//	call.go    has it computed
//	spaces.go  vectors on the cards where programs want them
//	cards.go   takes lost cards out and gets them back
package cuda
