package plugin

import "github.com/pippin-zk/pippin/plugin/internal/shm"

// Memory is shared memory for scalars that the clients of one plugin use one after the
// other (Spec.Memory): a restart does not touch it anew, and a buffer of a dead client is
// still read in place by the next.
type Memory struct{ pool *shm.Pool }

// NewMemory makes memory that has taken nothing yet. budget bounds it, as Spec.Budget does.
func NewMemory(budget int64) *Memory {
	return &Memory{shm.NewPool(shm.PoolOptions{Budget: budget})}
}

// Close releases the memory when the clients' buffers are freed.
func (m *Memory) Close() { m.pool.Close() }
