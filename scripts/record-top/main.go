//go:build linux

// Command record-top records msm top in a terminal, beside what a prover says that it watches,
// and writes it as a moving SVG: docs/howto/top.svg is such a record.
//
//	go run ./scripts/record-top -out top.svg -msm bin/msm -- SERVER ARGUMENTS
//
// SERVER is examples/proverserver, built, or another program that says "metrics at HOST:PORT"
// when it serves metrics; it ends by itself. On a machine with a GPU:
//
//	go build -o bin/ ./scripts/record-top ./examples/proverserver ./cmd/msm && make plugin-cuda
//	bin/record-top -out top.svg -msm bin/msm -- bin/proverserver -metrics 127.0.0.1:0 \
//	  -plugin plugin:cuda -plugins bin -links 300 -proofs 100 -kills 2
//
// The picture lasts as long as what it shows. Where pictures do not move, and for those who
// asked for less motion, it is the frame after the plugin was killed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The terminal: columns, rows of msm top, and of what the server says below it.
const (
	columns = 88
	topRows = 24
	said    = 6
)

// frame is what was to be seen from a moment on.
type frame struct {
	at    time.Duration
	lines []string // topRows, a line between, and the last that the server said
}

// recorder makes frames of two programs' output. Its methods may be called from several
// goroutines.
type recorder struct {
	mu     sync.Mutex
	begin  time.Time
	top    []string
	said   []string
	frames []frame
}

// show takes what is on the screen now.
func (r *recorder) show(screen []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.top = screen
	r.add()
}

// say takes a line of the server's, without the number and the path of a process.
func (r *recorder) say(line string) {
	line, _, _ = strings.Cut(line, "; process ")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, line)
	r.add()
}

// add makes a frame, once there is something on the screen. r.mu is held.
func (r *recorder) add() {
	if r.top == nil {
		return
	}
	if r.begin.IsZero() {
		r.begin = time.Now()
	}
	lines := make([]string, topRows+1+said)
	copy(lines, r.top[:min(len(r.top), topRows)])
	copy(lines[topRows+1:], r.said[max(0, len(r.said)-said):])
	if n := len(r.frames); n > 0 && slices.Equal(r.frames[n-1].lines, lines) {
		return
	}
	r.frames = append(r.frames, frame{time.Since(r.begin), lines})
}

func main() {
	out := flag.String("out", "top.svg", "the picture")
	msm := flag.String("msm", "bin/msm", "the command msm")
	every := flag.Duration("every", 500*time.Millisecond, "time between two looks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *msm, *every, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "record-top:", err)
		os.Exit(1)
	}
}

// run records until the server ends, which must do so without an error.
func run(ctx context.Context, out, msm string, every time.Duration, server []string) error {
	if len(server) == 0 {
		return errors.New("no server is named: record-top -out FILE -- SERVER ARGUMENTS")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &recorder{}
	prover := exec.CommandContext(ctx, server[0], server[1:]...)
	prover.Stderr = os.Stderr
	lines, err := prover.StdoutPipe()
	if err != nil {
		return err
	}
	if err := prover.Start(); err != nil {
		return err
	}
	var watching sync.WaitGroup
	watch, unwatch := context.WithCancel(ctx)
	defer unwatch()
	var watched error
	for text := bufio.NewScanner(lines); text.Scan(); {
		fmt.Println(text.Text())
		if address, ok := strings.CutPrefix(text.Text(), "metrics at "); ok {
			watching.Go(func() { watched = r.watch(watch, msm, address, every) })
			continue
		}
		r.say(text.Text())
	}
	err = prover.Wait()
	unwatch()
	watching.Wait()
	if err := errors.Join(err, watched); err != nil {
		return err
	}
	if len(r.frames) == 0 {
		return errors.New("there was nothing to see: does the server say \"metrics at HOST:PORT\"?")
	}
	var picture bytes.Buffer
	draw(&picture, r.frames)
	return os.WriteFile(out, picture.Bytes(), 0o644)
}

// watch runs msm top in a terminal until ctx ends.
func (r *recorder) watch(ctx context.Context, msm, address string, every time.Duration) error {
	keyboard, terminal, err := openTerminal()
	if err != nil {
		return err
	}
	defer keyboard.Close()
	top := exec.Command(msm, "top", "--every", every.String(), address)
	top.Stdin, top.Stdout, top.Stderr = terminal, terminal, terminal
	top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = top.Start()
	terminal.Close() // the child has it
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = top.Process.Signal(os.Interrupt) // it may have ended
	}()
	err = screens(keyboard, r.show)
	if err := top.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("msm top: %w", err)
	}
	return err
}

// openTerminal returns both ends of a terminal of its own.
func openTerminal() (keyboard, terminal *os.File, err error) {
	keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(keyboard.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: topRows, Col: columns})
	}
	var number int
	if err == nil {
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		keyboard.Close()
		return nil, nil, err
	}
	return keyboard, terminal, nil
}

// What msm top sends: home before a screen, the rest of the line or of the screen cleared.
const (
	home      = "\x1b[H"
	endOfLine = "\x1b[K"
	endOfAll  = "\x1b[K\x1b[J"
)

// screens calls show with each screen that msm top draws, until its terminal is closed.
func screens(from io.Reader, show func([]string)) error {
	var seen []byte
	for buffer := make([]byte, 4096); ; {
		n, err := from.Read(buffer)
		seen = append(seen, buffer[:n]...)
		for {
			at := bytes.Index(seen, []byte(home))
			end := bytes.Index(seen, []byte(endOfAll))
			if at < 0 || end < at {
				break
			}
			text := strings.ReplaceAll(string(seen[at+len(home):end]), endOfLine, "")
			show(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"))
			seen = seen[end+len(endOfAll):]
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, syscall.EIO): // how a terminal ends
			return nil
		default:
			return err
		}
	}
}
