package probe

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// size is the words of an operation's operands and results, an item.
type size struct{ in, out int }

// client talks to a probe program; see main.cu for the protocol. It may be used
// by several goroutines, one request at a time.
type client struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	table map[string]size
}

func start(path string) (*client, error) {
	c := &client{cmd: exec.Command(path)}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<16)
	if err := c.readTable(); err != nil {
		_ = c.close()
		return nil, fmt.Errorf("table of %s: %w", path, err)
	}
	return c, nil
}

// close ends the program and tells how it ended: sanitizers complain there.
func (c *client) close() error {
	_ = c.in.Close()
	return c.cmd.Wait()
}

func (c *client) readTable() error {
	if _, err := c.in.Write(make([]byte, 16)); err != nil {
		return err
	}
	var head [2]uint32
	if err := binary.Read(c.out, binary.LittleEndian, &head); err != nil {
		return err
	}
	text := make([]byte, head[1])
	if _, err := io.ReadFull(c.out, text); err != nil {
		return err
	}
	c.table = map[string]size{}
	for line := range strings.Lines(string(text)) {
		var name string
		var s size
		if _, err := fmt.Sscan(line, &name, &s.in, &s.out); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		if _, ok := c.table[name]; ok {
			return fmt.Errorf("%s is there twice", name)
		}
		c.table[name] = s
	}
	return nil
}

// call runs an operation on items of s.in words and returns s.out words each.
func (c *client) call(name string, s size, items int, operands []uint32) ([]uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	request := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
	request = append(request, name...)
	for _, x := range []int{items, s.in, s.out} {
		request = binary.LittleEndian.AppendUint32(request, uint32(x))
	}
	for _, x := range operands {
		request = binary.LittleEndian.AppendUint32(request, x)
	}
	if _, err := c.in.Write(request); err != nil {
		return nil, err
	}
	var status uint32
	if err := binary.Read(c.out, binary.LittleEndian, &status); err != nil {
		return nil, fmt.Errorf("%s: the probe ended: %w", name, err)
	}
	if status != 0 {
		return nil, fmt.Errorf("%s: status %d for %d words in, %d out", name, status, s.in, s.out)
	}
	results := make([]uint32, items*s.out)
	return results, binary.Read(c.out, binary.LittleEndian, results)
}
