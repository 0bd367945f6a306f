package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/config"
)

// watch starts watching path and gives a function that waits for a change.
func watch(t *testing.T, path string) (changed func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	changes := make(chan struct{})
	w, err := config.NewWatcher(path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func() {
			select {
			case changes <- struct{}{}:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return func() {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(20 * time.Second):
			t.Fatal("no change was noticed")
		}
	}
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".tmp", text)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path+".tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchSeesFilesWrittenReplacedAndMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answerback.yaml")
	write(t, path, "one")
	changed := watch(t, path)
	write(t, path, "two")
	changed()
	replace(t, path, "three")
	changed()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, "four")
	changed()
}

func TestWatchSeesAFileThatWasNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answerback.yaml")
	changed := watch(t, path)
	write(t, path, "one")
	changed()
}

// Kubernetes mounts a file as a link through ..data, and swaps that.
func TestWatchSeesKubernetesSwap(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "..v1", "config.yaml"), "one")
	write(t, filepath.Join(dir, "..v2", "config.yaml"), "two")
	link(t, "..v1", filepath.Join(dir, "..data"))
	link(t, "..data/config.yaml", filepath.Join(dir, "config.yaml"))
	changed := watch(t, filepath.Join(dir, "config.yaml"))
	link(t, "..v2", filepath.Join(dir, "..data"))
	changed()
	if err := os.RemoveAll(filepath.Join(dir, "..v1")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "..v3", "config.yaml"), "three")
	link(t, "..v3", filepath.Join(dir, "..data"))
	changed()
}

func TestWatchFollowsALinkIntoAnotherDirectory(t *testing.T) {
	elsewhere, other := filepath.Join(t.TempDir(), "real.yaml"), filepath.Join(t.TempDir(), "real.yaml")
	write(t, elsewhere, "one")
	write(t, other, "two")
	path := filepath.Join(t.TempDir(), "config.yaml")
	link(t, elsewhere, path)
	changed := watch(t, path)
	replace(t, elsewhere, "three")
	changed()
	link(t, other, path)
	changed()
	write(t, other, "four")
	changed()
}

func TestWatchNeedsADirectory(t *testing.T) {
	if err := config.Watch(t.Context(), filepath.Join(t.TempDir(), "none", "x.yaml"), func() {}); err == nil {
		t.Error("a directory that is not there is watched")
	}
}

func TestWatchReturnsWhenItsContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answerback.yaml")
	write(t, path, "one")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := config.Watch(ctx, path, func() { t.Error("nothing changed") }); err != nil {
		t.Error(err)
	}
}
