// Package cuda computes on NVIDIA GPUs. A plugin serves it; a prover does not import it, but opens
// the backend "cuda", which is that plugin.
//
//	b, err := cuda.Open(cuda.Options{})
//
// It consists of packages below this one: package device is one card, package msm computes MSMs on
// a card, and package driver is the CUDA driver. This package opens the cards, keeps bases by their
// ids, spreads work over the cards and implements the contract.
//
// # Several cards
//
// place.go decides which card computes what, without side effects. Every card has all bases if it
// has room for them; otherwise each card has a part. An MSM stays whole while other MSMs keep the
// other cards busy. If splitting it by points ends it sooner, it is split, and the host adds up the
// sums of its parts. A program runs on one card: the one with what it writes. What it only reads is
// copied there and stays until somebody writes it (spaces.go). A commitment to bases that this card
// lacks is computed on the cards that have them.
//
// A lost card is taken out, and its work is computed again on the others. It is tried again in this
// process, with pauses that grow, and then gets a copy of the bases. If it had vectors or bases
// that no other card has, the backend is gone: whoever opens another loads them again.
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
