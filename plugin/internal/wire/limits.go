package wire

import (
	"time"

	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// What both sides let a request be.
const (
	// MaxSteps bounds the steps of a program.
	MaxSteps = 1 << 14
	// MaxMessage bounds a request in bytes, and MaxParts the messages and elements of
	// lists in it, which a plugin counts before it decodes it.
	MaxMessage = 1 << 20
	MaxParts   = 1 << 16
	// RegionBytes is what a region takes in a request, at most, with ids and sizes as
	// they are in practice.
	RegionBytes = 24
	// MaxNumber bounds the elements of a space, so that nothing overflows.
	MaxNumber = 1 << 40
	// MaxCalls is how many MSMs and programs a host has at a plugin at a time beside
	// those in lanes, those included that it gave up. Others wait at the host.
	MaxCalls = 64
	// InlineAnswer is up to where the answer of a Read is in the reply, and
	// MaxInline what they may be together; others are in shared memory.
	InlineAnswer = 4 << 10
	MaxInline    = 1 << 20
	// MaxReply bounds a message of a plugin: the points of a full batch and room.
	MaxReply = 8 << 20
	// MaxDescriptors is how many descriptors a plugin takes that no call has asked for.
	MaxDescriptors = 32
	// DescriptorWait is how long a plugin waits for a descriptor that a call names.
	DescriptorWait = 10 * time.Second
)

// A lane is the short way of a call: what is asked and answered lies in shared
// memory, and the two that speak sleep in the kernel until the other has written.
// gRPC has half a dozen goroutines on the way, each of which a processor that has
// nothing to do must be woken for. One call at a time is in a lane. Those for which
// none is free, and those that are long, go through gRPC.
const (
	LaneBytes = 16 << 10 // of each mailbox
	LaneRoom  = LaneBytes - shm.MailboxHead
	MaxLanes  = 16 // that a plugin serves
)

// MaxSocketPath is the longest path of a unix socket on Linux, in bytes.
const MaxSocketPath = 107
