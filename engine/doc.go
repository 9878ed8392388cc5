// Package engine keeps backends working: it opens them, loads bases, repeats
// calls that a backend could not answer, and goes back to the preferred one
// when that is well again. Package msm is its typed face.
//
// It knows the contract, bytes and capabilities, but no curve: what it needs
// of one, to check an answer or to compute it again, comes with the bases.
//
// Every backend in the order of preference has a slot, and every slot an owner,
// a goroutine that alone opens, reloads, pings and closes, in its own time. A
// call takes the first slot that is ready, waits a while for one that is being
// repaired, and never repairs anything itself: its deadline ends the call only.
package engine
