package server

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestRoomIsKept starts a server in one folder again and again: with more and less free disk, with
// another room, and without the file that earlier versions did not write.
func TestRoomIsKept(t *testing.T) {
	dir := quickdir.New(t)
	var free uint64
	defer func(f func(string) (uint64, bool)) { freeOn = f }(freeOn)
	freeOn = func(string) (uint64, bool) { return free, true }

	// up starts the server and its manager and stores something. It returns the room, how much of
	// it the jobs may take, and what was logged.
	up := func(cfg Config) (room, jobs int64, said string) {
		t.Helper()
		var log bytes.Buffer
		cfg.Dir, cfg.Listen = dir, "127.0.0.1:0"
		cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s, err := Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		admin, err := s.Ticket(AdminTicket)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err = Manager{Ticket: admin, Room: s.Room(), Names: s.names}.Run(ctx, func() {
			defer stop()
			link, err := admin.Connect("test")
			if err != nil {
				t.Error(err)
				return
			}
			defer link.Close()
			tenant := slices.Sorted(maps.Keys(s.names))[0]
			keys, err := link.JS.Stream(ctx, wire.Of(wire.Keys, tenant))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := link.Last(ctx, wire.KeysPrefix+tenant+".y"); err != nil {
				for range 8 {
					_, err = link.JS.Publish(ctx, wire.KeysPrefix+tenant+".y", make([]byte, 512<<10))
				}
				if err != nil {
					t.Error(err)
				}
			}
			waiting, err := link.JS.Stream(ctx, wire.Jobs)
			if err != nil {
				t.Error(err)
				return
			}
			jobs = waiting.CachedInfo().Config.MaxBytes
			if held := keys.CachedInfo().State.Bytes; int64(held) > keys.CachedInfo().Config.MaxBytes {
				t.Errorf("the keys have %d bytes, and may have %d", held, keys.CachedInfo().Config.MaxBytes)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.Room(), jobs, log.String()
	}
	want := func(what string, cfg Config, room int64, says string) {
		t.Helper()
		got, jobs, said := up(cfg)
		if got != room || jobs != room/100*2 || strings.Contains(said, "less room") != (says != "") || !strings.Contains(said, says) {
			t.Errorf("%s: a room of %d, %d of it for jobs; wanted %d\n%s", what, got, jobs, room, said)
		}
	}
	const GiB = 1 << 30
	free = 10 * GiB
	want("a new folder", Config{}, 5*GiB, "")
	free = 6 * GiB
	want("less free disk", Config{}, 5*GiB, "")
	free = 100 * GiB
	want("more free disk", Config{}, 5*GiB, "")
	free = 2 * GiB
	if got, jobs, said := up(Config{}); got < GiB || got > GiB+8<<20 || jobs != got/100*2 ||
		!strings.Contains(said, "less room") || !strings.Contains(said, "free 3.0 GiB there, or start with --room 1028MiB") {
		t.Errorf("a disk that shrank: a room of %d, %d of it for jobs\n%s", got, jobs, said)
	}
	free = 10 * GiB
	want("a disk that has grown again", Config{}, 5*GiB, "")
	want("a smaller room", Config{Room: GiB}, GiB, "")
	want("the smaller room", Config{}, GiB, "")
	want("a larger room", Config{Room: 20 * GiB}, 20*GiB, "start with --room")
	want("less than the keys have", Config{Room: 4 << 20}, 4<<20, "")
	want("a larger room again", Config{Room: 3 * GiB}, 3*GiB, "")
	if err := os.Remove(filepath.Join(dir, roomFile)); err != nil {
		t.Fatal(err)
	}
	free = 4 * GiB // half of this is less than the streams reserve
	if got, _, _ := up(Config{}); got < 3*GiB-200 || got > 3*GiB {
		t.Errorf("an earlier version's folder has a room of %d", got)
	}
}
