package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peer is a program that computes with another library, as bench/peers/peer.h describes
// it. A nil one has ended.
type peer struct {
	note     string // what it said of itself
	cmd      *exec.Cmd
	stop     context.CancelFunc
	in       io.WriteCloser
	out      *bufio.Reader
	errs     bytes.Buffer
	patience time.Duration // with each line
	ended    bool
}

// startPeer starts a program and waits until it is ready. It ends with ctx.
func startPeer(ctx context.Context, path string, args []string, patience time.Duration) (*peer, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &peer{cmd: exec.CommandContext(ctx, path, args...), stop: stop, patience: patience}
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	if err != nil {
		stop()
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	note, ready := strings.CutPrefix(line, "ready")
	if !ready {
		return nil, p.failed(fmt.Errorf("it said %q", line))
	}
	p.note = strings.TrimSpace(note)
	return p, nil
}

// ask has the program compute once.
func (p *peer) ask() (answer []byte, took time.Duration, err error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return nil, 0, p.failed(err)
	}
	line, err := p.line()
	if err != nil {
		return nil, 0, err
	}
	ms, text, _ := strings.Cut(line, " ")
	number, err := strconv.ParseFloat(ms, 64)
	if err == nil {
		answer, err = hex.DecodeString(text)
	}
	if err != nil || number <= 0 {
		return nil, 0, p.failed(fmt.Errorf("it said %q", line))
	}
	return answer, time.Duration(number * float64(time.Millisecond)), nil
}

// line reads a line.
func (p *peer) line() (string, error) {
	late := time.AfterFunc(p.patience, p.stop)
	defer late.Stop()
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", p.failed(err)
	}
	return strings.TrimSpace(s), nil
}

// failed ends the program and returns why it fails, with the last line that it wrote as an
// error.
func (p *peer) failed(why error) error {
	if err := p.wait(); err != nil {
		why = fmt.Errorf("%w: %w", err, why)
	}
	text := strings.TrimSpace(p.errs.String())
	if last := text[strings.LastIndex(text, "\n")+1:]; last != "" {
		return fmt.Errorf("%s: %w", last, why)
	}
	return why
}

// wait ends a program that does not end by itself soon.
func (p *peer) wait() error {
	if p.ended {
		return nil
	}
	p.ended = true
	late := time.AfterFunc(5*time.Second, p.stop)
	defer late.Stop()
	defer p.stop()
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// end ends the program: it reads no more lines.
func (p *peer) end() error {
	if p == nil {
		return nil
	}
	return p.wait()
}
