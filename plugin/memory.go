package plugin

import "github.com/pippin-zk/pippin/plugin/internal/shm"

// Memory is shared memory for scalars that outlives a plugin (Spec.Memory): the clients of a plugin
// and of its replacements use it one after the other. So a restart need not touch the memory anew,
// and the next client reads a dead client's buffers in place.
type Memory struct{ pool *shm.Pool }

// NewMemory returns Memory that has taken nothing yet. budget bounds it as Spec.Budget does.
func NewMemory(budget int64) *Memory {
	return &Memory{shm.NewPool(shm.PoolOptions{Budget: budget, Leaves: true})}
}

// Close gives the memory back once the clients' buffers are freed.
func (m *Memory) Close() { m.pool.Close() }
