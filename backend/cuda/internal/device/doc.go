// Package device is one card as every computation needs it: its memory within a
// budget, its kernels, its streams, and turns at using them. What computes (MSMs
// in package msm, others later) stands on it and knows nothing of each other; a
// backend with several cards has several Devices.
//
// # Words
//
//   - A turn is the exclusive use of a card's two streams, its work memory and
//     its pinned results, by one call at a time. Calls wait for it in Device.Turn.
//   - A long turn pauses: others have the card between two of its launches. It keeps
//     streams, work memory and results of its own meanwhile, and ordinary turns keep
//     theirs.
//   - Work memory is one allocation that is kept from turn to turn: a layout says
//     what is where in it, in regions. It holds nothing from one turn to the next.
//   - Memory is what stays between turns, such as bases: taken in a turn, given
//     back at any time.
//   - Spare memory is what its owner can make again: it counts as free, and is
//     dropped when somebody needs its room. Work memory is spare between turns.
//   - The budget is the bytes that all of these share.
//
// # Secrets
//
// Whatever a call leaves on the card may tell its scalars. Work memory, the stacks
// of threads and shared memory are overwritten once the card has had no turn for 5 ms. On
// a busy card that happens at the end of a turn, 100 ms after the last time, or up to a
// second after it where there are many gigabytes: so few calls wait for it. Memory is
// overwritten before it is given back, and pinned memory at the end of a turn.
//
// # Errors
//
// Errors are those of package driver: a card that is lost answers
// backend.ErrGone from then on, a closed one backend.ErrClosed.
package device
